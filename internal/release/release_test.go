package release_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/internal/release"
)

func TestIsVersion(t *testing.T) { // G6
	t.Parallel()
	for text, want := range map[string]bool{
		"v0.1.0": true, "v1.20.3-rc.1": true, "v0.0.0-20261201032038-92ac55e3ed73": true, "v0.1.0+dirty": true, "v0.1.0-3-g92ac55e": true,
		"": false, "0.1.0": false, "v1": false, "v1.2": false, "v01.2.3": false, "v1.2.3 v2": false, "v1.2.3/..": false, "latest": false, "v1.2.3-": false, "v1.2.3\n": false,
	} {
		if release.IsVersion(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

// What nobody names is called by its tag, else as Go calls it.
func TestVersion(t *testing.T) { // G6
	t.Parallel()
	c := release.Commit{ID: "92ac55e3ed739f2c1f605daf503e57524c2e64ee", At: time.Date(2026, 12, 1, 3, 20, 38, 0, time.UTC)}
	const bare = "v0.0.0-20261201032038-92ac55e3ed73"
	for _, x := range []struct {
		tag   string
		dirty []string
		want  string
	}{
		{"", nil, bare}, {"nightly", nil, bare}, {"v0.1.0", nil, "v0.1.0"}, {"v0.1.0-3-g92ac55e", nil, "v0.1.0-3-g92ac55e"},
		{"", []string{" M x"}, bare + "+dirty"}, {"v0.1.0", []string{"?? x"}, "v0.1.0+dirty"},
	} {
		c.Tag, c.Dirty = x.tag, x.dirty
		if got := c.Version(); got != x.want || !release.IsVersion(got) {
			t.Errorf("%q %v: %s, want %s", x.tag, x.dirty, got, x.want)
		}
	}
}

func TestParseTarget(t *testing.T) { // G6
	t.Parallel()
	for _, want := range release.Targets() {
		if got, err := release.ParseTarget(want.String()); err != nil || got != want {
			t.Errorf("%s: %v, %v", want, got, err)
		}
	}
	for _, name := range []string{"", "linux", "linux/386", "linux/amd64 ", "plan9/amd64", "Linux/amd64"} {
		if _, err := release.ParseTarget(name); err == nil || !strings.Contains(err.Error(), "linux/arm64") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// "go install …@latest" refuses a module that replaces or leaves out others.
func TestInstallable(t *testing.T) { // G6
	t.Parallel()
	for line := range strings.Lines(read(t, filepath.Join("..", "..", "go.mod"))) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word == "replace" || word == "exclude" {
			t.Errorf("go.mod has %s", line)
		}
	}
}

// sh runs a command in a folder and returns what it printed.
func sh(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2026-12-01T03:20:38Z", "GIT_COMMITTER_DATE=2026-12-01T03:20:38Z")
	out, err := c.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := sh(t, dir, args...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return out
}

// clone copies the files of this repository as they are into a repository of its own,
// with one commit.
func clone(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("release.sh needs a POSIX shell")
	}
	root := filepath.Join("..", "..")
	list := must(t, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		data, err := os.ReadFile(from)
		if os.IsNotExist(err) { // removed, and not committed yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(to, data, mode); err != nil {
			t.Fatal(err)
		}
	}
	must(t, dir, "git", "init", "-q", "-b", "main")
	must(t, dir, "git", "add", "-A")
	must(t, dir, "git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "all")
	return dir
}

// The script builds an archive that is whole, says what it is, and is the same byte
// for byte when it is built again elsewhere and later.
func TestRelease(t *testing.T) { // G6 case:U09
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the program")
	}
	one, two := clone(t), clone(t)
	here := runtime.GOOS + "/" + runtime.GOARCH
	said := must(t, one, "./release.sh", "v0.1.0", "--only", here)
	must(t, two, "./release.sh", "--only", here, "v0.1.0", "--out", "out")
	name := fmt.Sprintf("uzda_v0.1.0_%s_%s", runtime.GOOS, runtime.GOARCH)
	for _, want := range []string{name + ".tar.gz", "MB", release.Sums} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not tell of %s:\n%s", want, said)
		}
	}
	sums := read(t, filepath.Join(one, "dist", release.Sums))
	if again := read(t, filepath.Join(two, "out", release.Sums)); sums != again || strings.Count(sums, "\n") != 1 {
		t.Errorf("built twice:\n%s%s", sums, again)
	}
	if _, err := exec.LookPath("sha256sum"); err == nil {
		must(t, filepath.Join(one, "dist"), "sha256sum", "-c", release.Sums)
	}
	left, err := os.ReadDir(filepath.Join(one, "dist"))
	if err != nil || len(left) != 2 {
		t.Errorf("%v in dist, %v", left, err)
	}
	archive := []byte(read(t, filepath.Join(one, "dist", name+".tar.gz")))
	program := contents(t, readTar(t, archive), name, "uzda")
	says(t, program, strings.TrimSpace(must(t, one, "git", "rev-parse", "HEAD")))
	if status := must(t, one, "git", "status", "--porcelain"); status != "" {
		t.Errorf("the build leaves its traces in the repository: %s", status)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// contents checks what an archive holds and returns the program.
func contents(t *testing.T, files []packed, top, program string) string {
	t.Helper()
	const most = 45e6 // the bar of DESIGN
	var names []string
	text := ""
	for _, f := range files {
		name := strings.TrimPrefix(f.name, top+"/")
		names = append(names, name)
		mode := os.FileMode(0o644)
		if name == program {
			mode, text = 0o755, f.text
		}
		if f.mode != mode || f.who != "" || !f.at.Equal(time.Date(2026, 12, 1, 3, 20, 38, 0, time.UTC)) || f.text == "" {
			t.Errorf("%s has mode %s, owner %q, time %s, %d bytes", f.name, f.mode, f.who, f.at, len(f.text))
		}
	}
	want := []string{"CHANGELOG.md", "LICENSE", "README.md", "completions/_uzda", "completions/uzda.bash", "completions/uzda.fish", "completions/uzda.ps1", "man/uzda.1", program}
	if !slices.Equal(names, want) {
		t.Errorf("it holds %q, want %q", names, want)
	}
	if len(text) > most {
		t.Errorf("the program has %d bytes", len(text))
	}
	if where, err := filepath.Abs(filepath.Join("..", "..")); err != nil || strings.Contains(text, where) {
		t.Errorf("the program knows where it was built: %s, %v", where, err)
	}
	return text
}

// says runs a program of an archive: it knows its version and its commit.
func says(t *testing.T, program, commit string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "uzda")
	if err := os.WriteFile(name, []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	var me struct {
		Version, Commit, Date string
		Modified              bool
		Parts                 []struct{ Module string }
	}
	out := must(t, filepath.Dir(name), name, "version", "--output-format", "json")
	if err := json.Unmarshal([]byte(out), &me); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if me.Version != "v0.1.0" || me.Commit != commit || me.Date != "2026-12-01T03:20:38Z" || me.Modified || len(me.Parts) < 10 {
		t.Errorf("it says of itself: %s", out)
	}
	if out := must(t, filepath.Dir(name), name, "version"); !strings.HasPrefix(out, "uzda v0.1.0\ncommit "+commit[:12]+", ") {
		t.Errorf("it says of itself: %s", out)
	}
}

// What would not be a release is refused, and a mistake is told from a state.
func TestRefused(t *testing.T) { // G6 case:U08
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds what release.sh calls")
	}
	dir := clone(t)
	must(t, dir, "git", "tag", "v0.1.0")
	must(t, dir, "git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "--allow-empty", "-m", "more")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--help", 0, "--only linux/amd64"},
		{"v1", 2, `"v1" is no version`},
		{"v1.0.0 v1.0.1", 2, "one version"},
		{"--only linux", 2, "windows/arm64"},
		{"--olny linux/amd64", 2, "olny"},
		{"v0.1.0", 2, "the tag v0.1.0 is commit"},
	} {
		out, err := sh(t, dir, append([]string{"./release.sh"}, strings.Fields(c.args)...)...)
		code := 0
		if err != nil {
			code = exitCode(t, err)
		}
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", c.args, code, c.code, c.want, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := sh(t, dir, "./release.sh"); err == nil || exitCode(t, err) != 1 || !strings.Contains(out, "?? new.go") || !strings.Contains(out, "--dirty") {
		t.Errorf("files that are not committed: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "dist")); err == nil {
		t.Error("a refused release leaves dist")
	}
	var said bytes.Buffer
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "release.sh"))
	c.Dir, c.Env, c.Stderr = dir, []string{"PATH=/nowhere"}, &said
	if err := c.Run(); err == nil || !strings.Contains(said.String(), "this needs Go") && !strings.Contains(said.String(), "not found") {
		t.Errorf("without Go: %v\n%s", err, said.String())
	}
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	e, ok := err.(*exec.ExitError) //nolint:errorlint // as exec returns it
	if !ok {
		t.Fatal(err)
	}
	return e.ExitCode()
}
