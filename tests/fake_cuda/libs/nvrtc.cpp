// A stand-in for NVRTC: compiles the same text, with the same headers, by the C++ compiler that has
// built the stand-in. Its "code" is a shared object, which driver.cpp loads. With
// GPUSH_FAKE_NVRTC_KEEP=folder each text is only kept there, and its code cannot be loaded; with
// GPUSH_FAKE_NVRTC_FAILS none compiles; with GPUSH_FAKE_NVRTC_WAITS=file compiling makes that file,
// and goes on once it is gone. GPUSH_FAKE_NVRTC_KNOWS=75,90: the compute capabilities that it
// compiles for (75 to 99 else).
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cuda_runtime_api.h"

extern char **environ;
namespace fs = std::filesystem;

struct nvrtc_program {
    std::string text, log, code;
    std::vector<std::pair<std::string, std::string>> headers;
    bool ptx = false;
    std::vector<std::string> expressions;
};

// What is not in NVRTC: for each kernel a function that takes its arguments by their addresses, as
// cuLaunchKernel has them.
static const char entries[] = R"(
#include <functional>
#include <tuple>
template <class... P, size_t... I>
static std::function<void()> fake_bind(void (*k)(P...), void **args, std::index_sequence<I...>) {
    std::tuple<P...> t(*(P *)args[I]...);
    return [k, t] { std::apply(k, t); };
}
template <class... P>
static void fake_bind(void (*k)(P...), void **args, std::function<void()> *to) {
    *to = fake_bind(k, args, std::index_sequence_for<P...>());
}
#define FAKE_ENTRY(name) \
    extern "C" void fake_entry_##name(void **args, std::function<void()> *to) { \
        fake_bind(name, args, to); \
    }
)";

// The word that ends before byte `at`.
static std::string word_before(const std::string &text, size_t at) {
    at = std::min(at, text.size());
    while (at && isspace((unsigned char)text[at - 1])) at--;
    size_t from = at;
    while (from && (isalnum((unsigned char)text[from - 1]) || text[from - 1] == '_')) from--;
    return text.substr(from, at - from);
}

// The name that expression i is given: another one than its own, as mangled names are.
static std::string lowered(size_t i) { return "_Zfake" + std::to_string(i); }

// Entries for the expressions: kernels, and the addresses of variables, "&name".
static std::string expression_entries(const nvrtc_program &p) {
    std::string all;
    for (size_t i = 0; i < p.expressions.size(); i++) {
        const std::string &e = p.expressions[i], name = lowered(i);
        if (e[0] == '&')
            all += "extern \"C\" void *fake_global_" + name + "(size_t *n) { *n = sizeof(" +
                   e.substr(1) + "); return (void *)(" + e + "); }\n";
        else
            all += "extern \"C\" void fake_entry_" + name +
                   "(void **args, std::function<void()> *to) { fake_bind(" + e + ", args, to); }\n";
    }
    return all;
}

// extern __shared__ T name[]; has no place in the host's C++.
static std::string with_dynamic(const std::string &text) {
    static const std::regex array(R"(extern\s+__shared__\s+([^;\[]*[\s*])(\w+)\s*\[\s*\]\s*;)");
    return std::regex_replace(text, array, "$1*const $2 = ($1*)fake::dynamic_shared();");
}

// The two instructions of PTX that half types are made of.
static std::string with_halves(const std::string &text) {
    static const std::regex to(
        R"(asm\("cvt.rn.f16.f32 %0, %1;" : "=h"\((\w+)\) : "f"\((\w+)\)\);)"),
        from(R"(asm\("cvt.f32.f16 %0, %1;" : "=f"\((\w+)\) : "h"\((\w+)\)\);)");
    std::string all = std::regex_replace(
        text, to, "{ _Float16 fake_h = (_Float16)$2; memcpy(&$1, &fake_h, 2); }");
    return std::regex_replace(all, from,
                              "{ _Float16 fake_h; memcpy(&fake_h, &$2, 2); $1 = fake_h; }");
}

// A text that includes nothing: it may have its own int64_t, as NVRTC has none.
static std::string own_program(const nvrtc_program &p) {
    return "#include <cuda_runtime.h>\n#include <stdio.h>\n#include <assert.h>\n"
           "#define int64_t fake_int64_t\n#define uint64_t fake_uint64_t\n" +
           with_halves(with_dynamic(p.text)) +
           "\n#undef int64_t\n#undef uint64_t\n#line 1 \"entries\"\n" + entries +
           expression_entries(p);
}

// Line n of what comes after #line 1 "kernel".
static std::string line_of(const std::string &text, int n) {
    size_t at = text.find("#line 1 \"kernel\"\n");
    for (; at != std::string::npos && n >= 0; n--)
        if (n) at = text.find('\n', at) + 1;
        else return text.substr(at, text.find('\n', at) - at);
    return "";
}

// GCC's messages as NVRTC words them: name(line): error: text, the line, and a caret.
static std::string reworded(const std::string &log, const std::string &text) {
    static const std::regex place(R"((\w+):(\d+):(\d+): error: ([^\n]*)\n)");
    std::string all;
    for (std::sregex_iterator it(log.begin(), log.end(), place), end; it != end; ++it)
        all += (*it)[1].str() + "(" + (*it)[2].str() + "): error: " + (*it)[4].str() + "\n  " +
               line_of(text, std::stoi((*it)[2])) + "\n  " +
               std::string((size_t)std::stoi((*it)[3]) - 1, ' ') + "^\n\n";
    return all.empty() ? log : all;
}

// An entry for each "__global__ void [__launch_bounds__(N)] name(".
static std::string with_entries(const std::string &text) {
    std::string all = text + entries;
    for (size_t at = 0; (at = text.find("__global__ ", at)) != std::string::npos; at++) {
        size_t open = text.find('(', at);
        std::string name = word_before(text, open);
        if (name == "__launch_bounds__") {
            open = text.find('(', text.find(')', open));
            name = word_before(text, open);
        }
        if (open != std::string::npos) all += "FAKE_ENTRY(" + name + ")\n";
    }
    return all;
}

static void write(const fs::path &path, const std::string &text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}
static std::string read(const fs::path &path) {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
}

// The text and its headers, for a test that gives them to NVRTC itself.
static void keep(const nvrtc_program &p, const char *folder) {
    char name[40];
    snprintf(name, sizeof name, "%zx.cu", std::hash<std::string>()(p.text));
    write(fs::path(folder) / name, p.text);
    for (auto &h : p.headers) write(fs::path(folder) / "include" / h.first, h.second);
}

static bool run(std::vector<std::string> words, const fs::path &log) {
    std::vector<char *> argv;
    for (std::string &w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT, 0600);
    pid_t pid;
    int status = -1, error = posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error) return false;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void compile(nvrtc_program &p, const fs::path &work) {
    Dl_info runtime;
    dladdr((void *)cudaStreamQuery, &runtime);
    write(work / "program.cu", p.expressions.empty() ? with_entries(p.text) : own_program(p));
    for (auto &h : p.headers) write(work / h.first, h.second);
    bool ok =
        run({FAKE_CXX, "-std=c++17", "-xc++", "-O0", "-w", "-fPIC", "-shared", "-ffp-contract=off",
             "-D__CUDACC_RTC__", "-DGP_MAX_DIM=8", "-I" FAKE_INCLUDE, "-I" FAKE_ROOT, "-idirafter",
             work, work / "program.cu", "-o", work / "program.so", "-xnone", runtime.dli_fname},
            work / "log");
    p.log = p.expressions.empty() ? read(work / "log") : reworded(read(work / "log"), p.text);
    if (!ok) return;
    std::string code = read(work / "program.so");
    uint64_t size = code.size();
    p.code = "FAKECODE" + std::string((char *)&size, sizeof size) + code;
}

static void wait_for(const char *path) {
    write(path, "");
    while (fs::exists(path)) usleep(1000);
}

static std::vector<int> known() {
    const char *list = getenv("GPUSH_FAKE_NVRTC_KNOWS");
    std::vector<int> all;
    if (!list)
        for (int arch = 75; arch < 100; arch++) all.push_back(arch);
    for (; list && *list; list += strspn(list, ","))
        all.push_back((int)strtol(list, (char **)&list, 10));
    return all;
}

#pragma GCC visibility push(default)
extern "C" {
int nvrtcGetNumSupportedArchs(int *n) { return *n = (int)known().size(), 0; }
int nvrtcGetSupportedArchs(int *to) {
    for (int arch : known()) *to++ = arch;
    return 0;
}
int nvrtcCreateProgram(nvrtc_program **p, const char *text, const char *, int n,
                       const char *const *headers, const char *const *names) {
    *p = new nvrtc_program{text, "", "", {}, false, {}};
    for (int i = 0; i < n; i++) (*p)->headers.push_back({names[i], headers[i]});
    return 0;
}
int nvrtcAddNameExpression(nvrtc_program *p, const char *expression) {
    return p->expressions.push_back(expression), 0;
}
int nvrtcGetLoweredName(nvrtc_program *p, const char *expression, const char **name) {
    static std::vector<std::string> &names = *new std::vector<std::string>;
    auto &all = p->expressions;
    size_t i = (size_t)(std::find(all.begin(), all.end(), expression) - all.begin());
    if (i == all.size() || p->code.empty()) return 10; // NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID
    names.reserve(4096);
    names.push_back(lowered(i));
    return *name = names.back().c_str(), 0;
}
int nvrtcDestroyProgram(nvrtc_program **p) { return delete *p, *p = nullptr, 0; }

int nvrtcCompileProgram(nvrtc_program *p, int n, const char *const *options) {
    const char *folder = getenv("GPUSH_FAKE_NVRTC_KEEP");
    bool card = false;
    for (int i = 0; i < n; i++)
        for (const char *kind : {"--gpu-architecture=sm_", "--gpu-architecture=compute_"})
            if (!strncmp(options[i], kind, strlen(kind))) {
                std::vector<int> all = known();
                card = std::count(all.begin(), all.end(), atoi(options[i] + strlen(kind)));
                p->ptx = strstr(kind, "compute");
            }
    if (!card) return 5; // NVRTC_ERROR_INVALID_OPTION
    if (folder) {
        keep(*p, folder);
        return p->code = std::string(64, '.'), 0;
    }
    if (getenv("GPUSH_FAKE_NVRTC_WAITS")) wait_for(getenv("GPUSH_FAKE_NVRTC_WAITS"));
    if (getenv("GPUSH_FAKE_NVRTC_FAILS")) return p->log = "program.cu(1): error: as asked", 6;
    std::string work = (fs::temp_directory_path() / "fake-nvrtc.XXXXXX").string();
    if (!mkdtemp(work.data())) return 1; // NVRTC_ERROR_OUT_OF_MEMORY
    compile(*p, work);
    fs::remove_all(work);
    return p->code.empty() ? 6 : 0; // NVRTC_ERROR_COMPILATION
}

// Of code for a compute capability there is only the one form or the other.
int nvrtcGetCUBINSize(nvrtc_program *p, size_t *n) { return *n = p->code.size(), p->ptx ? 4 : 0; }
int nvrtcGetCUBIN(nvrtc_program *p, char *to) {
    return memcpy(to, p->code.data(), p->code.size()), p->ptx ? 4 : 0;
}
int nvrtcGetPTXSize(nvrtc_program *p, size_t *n) { return *n = p->code.size(), p->ptx ? 0 : 4; }
int nvrtcGetPTX(nvrtc_program *p, char *to) {
    return memcpy(to, p->code.data(), p->code.size()), p->ptx ? 0 : 4;
}
int nvrtcGetProgramLogSize(nvrtc_program *p, size_t *n) { return *n = p->log.size() + 1, 0; }
int nvrtcGetProgramLog(nvrtc_program *p, char *to) {
    return memcpy(to, p->log.c_str(), p->log.size() + 1), 0;
}
const char *nvrtcGetErrorString(int code) {
    return code == 6 ? "NVRTC_ERROR_COMPILATION" : "an error of NVRTC";
}
int nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 0; }
}
#pragma GCC visibility pop
