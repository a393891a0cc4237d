#!/bin/bash
# The documents: the CHANGELOG's newest release is CMakeLists.txt's version, a release has at most 80 lines, lines
# of text at most 120 columns, and every link leads to a file and a heading that are there. Their examples run in
# tests/scripts/documents.lua.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"
max_release=80
max_line=120

version() { sed -nE 's/^project\(gpush VERSION ([0-9.]+).*/\1/p' CMakeLists.txt; }
newest() { sed -nE 's/^## \[([0-9.]+)\].*/\1/p' CHANGELOG.md | head -n 1; }
long_releases() {
    awk -v max=$max_release 'function ends() { if (name && n > max) print name ": " n " lines" }
        /^## / { ends(); name = $2; n = 0 } { n++ } END { ends() }' CHANGELOG.md
}
pages() { ls *.md docs/*.md tests/gpu/*.md 2>/dev/null; }
# Code and tables have lines of their own.
long_lines() {
    pages | xargs perl -CSD -ne 'chomp; $code = !$code if /^(```|~~~)/;
        print "$ARGV:$.: ", length, " columns\n" if !$code && !/^\|/ && length > '$max_line';
        close ARGV, $code = 0 if eof'
}
# A heading's anchor is its text in lower case, without what is no letter, digit, space or dash, and with
# dashes for the spaces.
dead_links() {
    pages | perl -CSD -e '
        use File::Basename;
        sub text { open my $f, "<:utf8", $_[0] or return; local $/; my $t = <$f>; $t =~ s/^```.*?^```//msg; $t }
        sub anchors { my %a; for (text($_[0]) =~ /^#+ (.*)/mg) { $_ = lc; s/[^\w\s-]//g; s/ /-/g; $a{$_} = 1 } \%a }
        for my $page (map { chomp; $_ } <STDIN>) {
            my $t = text($page);
            while ($t =~ /\]\(([^)\s]+)\)/g) {
                my $link = $1;
                my ($file, $anchor) = $link =~ /^([^#]*)#?(.*)$/;
                next if $file =~ /^https?:/;
                my $path = $file eq "" ? $page : dirname($page) . "/$file";
                print "$page: ($link): no file\n" and next unless -e $path;
                print "$page: ($link): no heading\n" if $anchor ne "" && !anchors($path)->{$anchor};
            }
        }'
}

cd "$root" || exit 1
tap_is "$(newest)" "$(version)" "the CHANGELOG's newest release is the version in CMakeLists.txt"
tap_empty "$(long_releases)" "no release has more than $max_release lines"
tap_empty "$(long_lines)" "no line of a document's text is longer than $max_line columns"
tap_empty "$(dead_links)" "every link leads to a file and a heading that are there"

# The rules can fail: a scratch tree that breaks each.
TMPDIR=$(mktemp -d) || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR" && mkdir docs || exit 1
echo 'project(gpush VERSION 1.2.3 LANGUAGES C)' >CMakeLists.txt
{ printf '# Changes\n## [1.2.4] - unreleased\n'; yes -- '- x' | head -n 79; printf '## [1.2.3]\n'; yes -- '- y' | head -n 80; } >CHANGELOG.md
printf '# A page: one\n[a](#a-page-one) [b](#a-page) [c](none.md) [d](../CHANGELOG.md#changes)\n```\n%0121d [e](f)\n```\n%0121d\n| %0121d |\n' \
    0 0 0 >docs/a.md
tap_is "$(newest) $(version)" "1.2.4 1.2.3" "another version than the newest release's is found"
tap_is "$(long_releases)" "[1.2.3]: 81 lines" "a release of 81 lines is found, one of 80 is not"
tap_is "$(long_lines)" "docs/a.md:6: 121 columns" "a line of 121 columns is found, code and tables are not"
tap_is "$(dead_links)" $'docs/a.md: (#a-page): no heading\ndocs/a.md: (none.md): no file' "links that lead nowhere are found"
tap_done
