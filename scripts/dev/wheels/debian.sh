# Root file systems and sources of Debian's releases, from the archive that apt is set up with here.
# Sourced by bash; needs scripts/lib.sh and $work, the folder for all of it.
# shellcheck shell=bash disable=SC2154

# The archive's address.
debian_archive() {
    apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 2>/dev/null |
        sed -n 's/^Debian Debian //p' | head -n 1
}

# debian_root SUITE FOLDER PACKAGE...: a minimal system with these packages.
debian_root() {
    suite=$1 folder=$2
    shift 2
    archive=$(debian_archive)
    [ -n "$archive" ] || die "apt knows no archive of Debian here (apt-get update, on Debian)"
    rm -rf --one-file-system "$folder"
    mkdir -p "$folder"
    step debootstrap --variant=minbase --include="$(echo "$@" | tr ' ' ,)" \
        "$suite" "$folder" "$archive" || {
        tail -n 3 "$folder/debootstrap/debootstrap.log" >&2 2>/dev/null
        die "Debian's $suite could not be installed into $folder (above; or is the disk full?)"
    }
    rm -rf "$folder"/var/cache/apt/archives/*.deb
}

# debian_source NAME SUITE FOLDER: NAME.dsc there, with the files that it names.
debian_source() {
    lists=$work/apt
    options=(-o "Dir::Etc::SourceList=$lists/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$lists/lists" -o "Dir::Cache=$lists/cache" -o APT::Sandbox::User=root)
    if [ ! -e "$lists/sources.list" ]; then
        mkdir -p "$lists/lists/partial" "$lists/cache"
        for suite in bookworm trixie; do
            echo "deb-src $(debian_archive) $suite main"
        done >"$lists/sources.list"
        step apt-get "${options[@]}" update || {
            rm "$lists/sources.list"
            die "the lists of Debian's sources could not be fetched"
        }
    fi
    rm -rf "$lists/new"
    mkdir "$lists/new"
    (cd "$lists/new" && step apt-get "${options[@]}" source --download-only "$1/$2") ||
        die "the source of $1 in Debian's $2 could not be fetched"
    mv "$lists/new"/*.dsc "$3/$1.dsc" && mv "$lists/new"/* "$3/"
}
