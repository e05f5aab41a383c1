//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/cmd/uzda/shop"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// notHere are the lines of pages that no test can run, each with its reason. A line
// that fits none of them runs.
var notHere = []struct {
	line   *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`^\./(test|bench|release)\.sh|^\.ci/run`), "it tests, measures or builds this repository, which CI does by itself"},
	{regexp.MustCompile(`^go (install|build|test|vet|tool|get) |^cd bench && |^go run \./(internal|bench|tools)/`), "it needs this repository or the network; CI builds, vets and tests all of it"},
	{regexp.MustCompile(`^(ollama|llama-server) `), "it is the software of others"},
}

// printing are the pages whose blocks of text are what their commands print.
var printing = []string{"getting-started.md", "budgets.md"}

// programs are what the lines may call besides uzda and what a shell has built in:
// no page tells its reader to fetch and run something unseen.
var programs = []string{"bash", "cat", "cp", "cut", "diff", "env", "false", "git", "grep", "head", "kill", "ls", "mkdir", "mv", "printf", "ps", "rm", "sed", "sh", "sleep", "sort", "tail", "test", "touch", "tr", "true", "wc"}

// A scene is what the model says to a task of the pages, reply by reply.
type scene struct {
	task  string // that stands in the request
	turns []modeltest.Turn
}

var scenes = []scene{
	{"the total in notes.md", []modeltest.Turn{
		{Text: "I read the file.", Calls: []modeltest.Call{{Name: "read_file", Input: `{"path":"notes.md"}`}}},
		{Text: "9 and 5 are 14.", Calls: []modeltest.Call{{Name: "edit_file", Input: `{"path":"notes.md","old":"Total: 12","new":"Total: 14"}`}}},
		{Text: "The total in notes.md is 14 now; it was 12."},
	}},
	{"How many orders came in", []modeltest.Turn{
		{Text: "I count.", Calls: []modeltest.Call{{Name: "run_query", Input: `{"sql":"SELECT count(*) AS n FROM orders"}`}}},
		{Text: "That many."},
	}},
}

// says answers a request: by the scene, else as a model does that is examined.
func says(r *modeltest.Request) modeltest.Turn {
	for _, s := range scenes {
		if strings.Contains(string(r.Body), s.task) && r.Assistant < len(s.turns) {
			return s.turns[r.Assistant]
		}
	}
	return provider(r)
}

// Each line of each block for the shell runs, page by page and in order, with the real
// program, and ends as the page says: with 0, or as a comment "exit N" tells. Models
// are scripts, and strict fakes of providers.
func TestDocsCommands(t *testing.T) { // G6 case:U07
	t.Parallel()
	build := newProgram(t)
	tools := toolbox(t, build.bin)
	cloud := modeltest.Serve(t, modeltest.Config{Answer: says})
	ollama := modeltest.Serve(t, modeltest.Config{Answer: says, NoKey: true, Models: []modeltest.Model{{ID: "qwen3:8b", Window: 40_960, MaxOutput: 40_960}}, Local: modeltest.Local{Kind: modeltest.Ollama}})
	llama := modeltest.Serve(t, modeltest.Config{Answer: says, NoKey: true, Models: []modeltest.Model{{ID: "qwen3-8b", Window: 32_768, MaxOutput: 32_768}}, Local: modeltest.Local{Kind: modeltest.LlamaServer, Window: 32_768}})
	pages, shown := map[string][]string{}, map[string][]string{}
	var turns string
	for _, f := range fences(t) {
		switch {
		case f.kind == "sh":
			pages[f.page] = append(pages[f.page], lines(f.text)...)
		case f.kind == "text" && slices.Contains(printing, f.page):
			shown[f.page] = append(shown[f.page], strings.Split(strings.TrimSpace(f.text), "\n")...)
		case f.page == "scripted-models.md" && f.kind == "json":
			turns = f.text
		}
	}
	var used sync.Map
	t.Run("pages", func(t *testing.T) {
		for page, all := range pages {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				r := &follower{program: newProgram(t), tools: tools, used: &used}
				// The places are the usual ones below HOME, as on a reader's machine.
				r.envs = append(r.envs, "UZDA_HOME=", "XDG_DATA_HOME="+filepath.Join(r.dir, ".local", "share"), "XDG_CONFIG_HOME="+filepath.Join(r.dir, ".config"), "PATH="+tools, "ANTHROPIC_API_KEY=a-key-for-the-docs", "ANTHROPIC_BASE_URL="+cloud.URL,
					"OPENAI_BASE_URL="+cloud.URL+"/v1", "OLLAMA_HOST="+ollama.URL, "LLAMA_BASE_URL="+llama.URL+"/v1")
				r.prepare(turns)
				for _, line := range all {
					r.line(line)
				}
				printed := someNumber.ReplaceAllString(squeeze(r.printed.String()), "0")
				for _, line := range shown[page] {
					if !strings.Contains(printed, someNumber.ReplaceAllString(squeeze(line), "0")) {
						t.Errorf("no command of the page prints %q", line)
					}
				}
			})
		}
	})
	if len(pages) < 8 {
		t.Errorf("only %d pages with commands: %v", len(pages), slices.Sorted(maps.Keys(pages)))
	}
	for _, n := range notHere {
		if _, ok := used.Load(n.reason); !ok {
			t.Errorf("no line fits %s any more", n.line)
		}
	}
}

// toolbox is a folder with the programs that a page may call, for PATH.
func toolbox(t *testing.T, bin string) string {
	t.Helper()
	dir := t.TempDir()
	link := func(path, name string) {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(bin, "uzda")
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			link(path, name)
		}
	}
	return dir
}

// lines are the commands of a block: a line each, but for those that go on after a
// backslash or have a here-document.
func lines(block string) (out []string) {
	var open []string
	end := ""
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if trimmed := strings.TrimSpace(line); open == nil && (trimmed == "" || strings.HasPrefix(trimmed, "#")) {
			continue
		}
		if m := hereDoc.FindStringSubmatch(line); end == "" && m != nil {
			end = m[1]
		}
		open = append(open, line)
		if end != "" && line != end || end == "" && strings.HasSuffix(line, `\`) {
			continue
		}
		out, open, end = append(out, strings.Join(open, "\n")), nil, ""
	}
	return append(out, open...)
}

var (
	hereDoc  = regexp.MustCompile(`<<'?([A-Z]+)'?`)
	exitSaid = regexp.MustCompile(`#.*\bexit ([0-9]+)`)
	someID   = regexp.MustCompile(`\b(ID|SESSION)\b`)
	someUse  = regexp.MustCompile(`\bUSE\b`)

	someNumber = regexp.MustCompile(`[0-9]+`)
)

// A follower does what a page says, in a folder of its own.
type follower struct {
	*program
	tools   string
	used    *sync.Map
	printed strings.Builder // by all lines
}

// prepare is what a reader has before: a small repository, a database, a script.
func (r *follower) prepare(turns string) {
	r.t.Helper()
	work := filepath.Join(r.dir, "work")
	r.must(os.Mkdir(work, 0o700))
	for name, text := range map[string]string{
		"work/notes.md":   "# Order\nTea: 9\nCups: 5\nTotal: 12\n",
		"work/turns.json": turns,
		"work/turns.txt":  "How many orders are there?\n",
		"work/chart.png":  onePixel,
		"work/report.pdf": onePage,
		"seed.json":       `{"turns":[{"calls":[{"name":"todo","input":{"items":[]}}]},{"text":"Done."}]}`,
		"unknown.json":    `{"turns":[{"text":"I pay.","calls":[{"name":"shell","input":{"command":"kill -9 $PPID; sleep 5"}}]},{"text":"Paid."}]}`,
		"cwd":             work,
		"env":             "",
	} {
		r.file(name, text)
	}
	r.must(shop.Build(r.t.Context(), filepath.Join(work, "shop.db")))
	code, out := r.sh("git init -q && git add notes.md && git -c user.name=Ada -c user.email=ada@example.com commit -qm Order && printf 'Spoons: 3\n' >> notes.md", 0)
	if code != 0 {
		r.t.Fatalf("prepare: exit %d\n%s", code, out)
	}
}

func (r *follower) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// sh runs a line as the next one of a shell: variables that are exported and the
// directory are those of the lines before.
func (r *follower) sh(line string, most time.Duration) (code int, out string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), cmp.Or(most, 2*time.Minute))
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/sh", "-c", `. "$HOME/env"; cd "$(cat "$HOME/cwd")" || exit 99
`+line+`
code=$?; export -p >"$HOME/env"; pwd >"$HOME/cwd"; exit $code`)
	c.Dir, c.Env, c.WaitDelay = r.dir, r.envs, time.Second
	if strings.Contains(line, "uzda chat") {
		c.Stdin = strings.NewReader("How many orders are there?\n")
	}
	raw, err := c.CombinedOutput()
	if e := new(exec.ExitError); err != nil && !errors.As(err, &e) {
		r.t.Fatalf("%s: %v\n%s", line, err, raw)
	}
	return c.ProcessState.ExitCode(), string(raw)
}

// line does one line of the page.
func (r *follower) line(line string) {
	r.t.Helper()
	for _, n := range notHere {
		if n.line.MatchString(strings.TrimSpace(line)) {
			r.used.Store(n.reason, true)
			return
		}
	}
	want := 0
	if m := exitSaid.FindStringSubmatch(line); m != nil {
		want, _ = strconv.Atoi(m[1])
	}
	command := strings.ReplaceAll(line, "go run ./cmd/uzda", "uzda")
	if code, _, _ := strings.Cut(command, " #"); someID.MatchString(code) || someUse.MatchString(code) {
		command = r.named(code)
	}
	code, out := r.sh(command, 0)
	r.printed.WriteString(out + "\n")
	if code != want {
		r.t.Errorf("%s\nended with %d, the page says %d (a line that cannot run here belongs into notHere, with its reason)\n%s", command, code, want, out)
	}
}

// named puts the last session, and the call of it that waits or whose outcome is
// unknown, in the place of ID and USE. Where the page has none yet, there is one.
func (r *follower) named(line string) string {
	r.t.Helper()
	id := r.last()
	if strings.Contains(line, "uzda resolve") {
		// A process that is killed in the middle of a command.
		r.sh(`uzda run --permission-mode bypass --model "script:$HOME/unknown.json" "Pay the invoice"`, time.Minute)
		r.sh("uzda resume "+r.last(), time.Minute)
		id = r.last()
	}
	if id == "" {
		if code, out := r.sh(`uzda run --model "script:$HOME/seed.json" go`, 0); code != 0 {
			r.t.Fatalf("exit %d\n%s", code, out)
		}
		id = r.last()
	}
	use := "USE"
	if someUse.MatchString(line) {
		_, out := r.sh("uzda show "+id+" --output-format json", 0)
		m := regexp.MustCompile(`"unknown":\["([0-9.]+)"`).FindStringSubmatch(out)
		if m == nil {
			m = regexp.MustCompile(`"use":"([0-9.]+)","tool"`).FindStringSubmatch(out)
		}
		if m == nil {
			r.t.Fatalf("%s: session %s has no call that waits, and none whose outcome is unknown\n%s", line, id, out)
		}
		use = m[1]
	}
	return someUse.ReplaceAllString(someID.ReplaceAllString(line, id), use)
}

func (r *follower) last() string {
	r.t.Helper()
	code, out := r.sh("uzda sessions --output-format json", 0)
	var all []struct{ Session string }
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
		r.t.Fatalf("exit %d, %v\n%s", code, err, out)
	}
	if len(all) == 0 {
		return ""
	}
	return all[0].Session
}

// What is a command on a page, and what one is joined of.
func TestDocsLines(t *testing.T) {
	t.Parallel()
	got := lines("# a remark\n\nuzda demo   # exit 8\nuzda run \\\n  --model x\ncat > a <<'END'\n# no remark\nb\nEND\necho c\n")
	want := []string{"uzda demo   # exit 8", "uzda run \\\n  --model x", "cat > a <<'END'\n# no remark\nb\nEND", "echo c"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	for line, want := range map[string]string{"uzda run x  # exit 8": "8", "a # waits, exit 12": "12", "uzda exit 3": ""} {
		m := exitSaid.FindStringSubmatch(line)
		if (m == nil) != (want == "") || m != nil && m[1] != want {
			t.Errorf("%s: %v", line, m)
		}
	}
}
