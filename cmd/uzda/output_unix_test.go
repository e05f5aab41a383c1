//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// objects runs a command and returns the values on its standard output.
func (p *program) objects(args ...string) (values []any, code int, errs string) {
	p.t.Helper()
	c := p.command(args...)
	var out, stderr bytes.Buffer
	c.Stdout, c.Stderr = &out, &stderr
	c.Run() //nolint:errcheck // the code is looked at
	d := json.NewDecoder(&out)
	for {
		var v any
		if err := d.Decode(&v); err == io.EOF {
			return values, c.ProcessState.ExitCode(), stderr.String()
		} else if err != nil {
			p.t.Fatalf("%q: standard output is no JSON: %v", args, err)
		}
		values = append(values, v)
	}
}

// Every command that has --output-format json prints exactly one value on
// standard output, whether it succeeds or not, and with stream-json its last
// line is that object for a run.
func TestOneObject(t *testing.T) { // case:U01
	t.Parallel()
	p := newProgram(t)
	ok, note := p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`), p.file("note.json", `{"turns":[{"calls":[{"name":"notes","input":{"op":"write","text":"x"}}]},{"text":"ok"}],"loop":true}`)
	if e := p.run("run", "--model", "script:"+ok, "--session", "s", "go"); e.code != 0 {
		t.Fatal(e)
	}
	plain := p.envs
	p.envs = append(slices.Clone(plain), "UZDA_ASK=notes")
	for _, id := range []string{"a", "b", "c"} {
		if e := p.run("run", "--model", "script:"+note, "--session", id, "go"); e.code != 8 {
			t.Fatal(e)
		}
	}
	p.envs = plain
	for _, c := range []struct {
		line string
		code int
	}{
		{"demo", 0}, {"run --model script:" + ok + " go", 0}, {"run go", 2}, {"run --nonsense", 2}, {"run", 2},
		{"resume s", 0}, {"resume s more", 0}, {"resume nosuch", 2}, {"resume", 2},
		{"sessions", 0}, {"sessions --most x", 2}, {"sessions extra", 2},
		{"show s", 0}, {"show s --events", 0}, {"show nosuch", 2}, {"show nosuch --events", 2},
		{"context s", 0}, {"context nosuch", 2}, {"cost", 0}, {"cost s", 0}, {"cost nosuch", 2},
		{"trace s", 0}, {"trace s --file spans.jsonl", 0}, {"trace s --file nosuch/spans", 2}, {"trace nosuch", 2},
		{"approve a", 0}, {"approve b --resume", 0}, {"approve nosuch", 2}, {"approve s", 2}, {"deny c --reason no", 0}, {"deny s", 2},
		{"resolve s 1.1 yes", 2}, {"resolve", 2},
		{"models", 0}, {"models x", 2}, {"tools", 0}, {"tools --agent nosuch", 2},
		{"policy check notes {}", 0}, {"policy check notes {", 2}, {"policy chek", 2},
		{"config", 0}, {"config --check", 0}, {"config --permission-mode x", 2}, {"config --check --permission-mode x", 13},
		{"doctor", 0}, {"doctor --rebuild", 0}, {"doctor --permission-mode x", 13}, {"version", 0}, {"version x", 2},
		{"nosuch", 2}, {"chat", 2},
	} {
		values, code, errs := p.objects(append(strings.Fields(c.line), "--output-format", "json")...)
		if code != c.code || len(values) != 1 {
			t.Errorf("%s: exit %d, want %d; %d values\n%s", c.line, code, c.code, len(values), errs)
		}
		if len(values) == 1 && c.code == 2 {
			if o, _ := values[0].(map[string]any); o["exit"] != 2.0 || o["reason"] != "config_error" {
				t.Errorf("%s: %v", c.line, values[0])
			}
		}
	}
	p.envs = append(p.envs, "UZDA_OUTPUT_FORMAT=json")
	if values, code, errs := p.objects("run", "go"); code != 2 || len(values) != 1 {
		t.Errorf("by the environment: exit %d, %d values\n%s", code, len(values), errs)
	}
}

// The lines of stream-json are stored events and pieces of text, with these keys
// and no others, and the last one is the object; it has the keys of the contract.
func TestStream(t *testing.T) { // L10 case:U01
	t.Parallel()
	p := newProgram(t)
	turns := p.file("turns.json", `{"turns":[{"thinking":"Hm, hm.","text":"I note it down, word by word.","calls":[{"name":"notes","input":{"op":"write","text":"x"}}]},{"text":"Noted, all of it."}]}`)
	values, code, errs := p.objects("run", "--model", "script:"+turns, "--output-format", "stream-json", "go")
	if code != 0 || len(values) < 8 {
		t.Fatalf("exit %d, %d lines\n%s", code, len(values), errs)
	}
	var text strings.Builder
	seq := 0.0
	for _, v := range values[:len(values)-1] {
		o, _ := v.(map[string]any)
		if d, ok := o["delta"].(map[string]any); ok {
			hasKeys(t, o, "delta")
			hasKeys(t, d, "ask", "block", "text")
			text.WriteString(d["text"].(string))
			continue
		}
		hasKeys(t, o, "seq", "at", "kind", "v", "body")
		if n, _ := o["seq"].(float64); n <= seq {
			t.Errorf("event %v after %v", n, seq)
		} else {
			seq = n
		}
	}
	const all = "I note it down, word by word.Noted, all of it."
	if got := text.String(); !strings.HasSuffix(all, got) {
		t.Errorf("the pieces give %q", got)
	}
	last, _ := values[len(values)-1].(map[string]any)
	hasKeys(t, last, "session", "outcome", "reason", "answer", "model", "steps", "tool_calls", "usage", "cost_usd", "cost_is_lower_bound",
		"duration_ms", "pending", "unknown", "denied", "trace", "exit", "error")
	usage, _ := last["usage"].(map[string]any)
	hasKeys(t, usage, "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
	if last["answer"] != "Noted, all of it." || last["error"] != nil || last["cost_usd"] != 0.0 {
		t.Errorf("the object: %v", last)
	}
}

func hasKeys(t *testing.T, o map[string]any, want ...string) {
	t.Helper()
	for _, k := range want {
		if _, ok := o[k]; !ok {
			t.Errorf("no %s in %v", k, o)
		}
	}
	if len(o) != len(want) {
		t.Errorf("%d keys, want %d: %v", len(o), len(want), o)
	}
}

// Whoever reads the output may go away: nothing is printed about it, a command
// that looks ends, and a run is cancelled and can go on.
func TestReaderGoes(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	turns := p.file("turns.json", `{"turns":[{"text":"one","delay_ms":300,"calls":[{"name":"notes","input":{"op":"append","text":"a"}}]},{"text":"two","delay_ms":60000},{"text":"three"}]}`)
	c := p.command("run", "--model", "script:"+turns, "--session", "s", "--output-format", "stream-json", "go")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	out.Close()
	c.Wait() //nolint:errcheck // the code is looked at
	if code := c.ProcessState.ExitCode(); code != 130 || strings.Contains(errs.String(), "pipe") || strings.Contains(errs.String(), "panic") {
		t.Errorf("exit %d\n%s", code, errs.String())
	}
	if e := p.run("doctor"); e.code != 0 {
		t.Errorf("doctor: %s", e.errs)
	}
	for _, line := range []string{"sessions", "show s", "models", "config", "tools", "cost", "trace s", "--help", "demo"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var errs bytes.Buffer
		c := p.command(strings.Fields(line)...)
		c.Stdout, c.Stderr = w, &errs
		c.Run() //nolint:errcheck // the code is looked at
		w.Close()
		if code := c.ProcessState.ExitCode(); line != "demo" && (code != 0 || errs.Len() > 0) || strings.Contains(errs.String(), "pipe") || code == 2 {
			t.Errorf("%s: exit %d\n%s", line, code, errs.String())
		}
	}
}

// Output that cannot be written is an error, and with closed streams a run ends
// as it does with open ones.
func TestClosedStreams(t *testing.T) { // case:U02
	t.Parallel()
	p := newProgram(t)
	p.file("ok.json", `{"turns":[{"text":"ok"}]}`)
	for _, c := range []struct {
		streams string
		code    int
	}{{">&-", 0}, {"<&-", 0}, {"2>&-", 0}, {"<&- >&- 2>&-", 0}, {">/dev/full", 10}, {"2>/dev/full", 0}, {"</dev/null", 0}} {
		if strings.Contains(c.streams, "full") {
			if _, err := os.Stat("/dev/full"); err != nil {
				continue
			}
		}
		for _, format := range []string{"text", "json"} {
			sh := exec.Command("/bin/sh", "-c", p.bin+" run --model script:ok.json --output-format "+format+" go "+c.streams)
			sh.Dir, sh.Env = p.dir, append(p.envs, "TERM=dumb")
			var errs bytes.Buffer
			sh.Stderr = &errs
			sh.Run() //nolint:errcheck // the code is looked at
			if code := sh.ProcessState.ExitCode(); code != c.code {
				t.Errorf("%s %s: exit %d, want %d\n%s", format, c.streams, code, c.code, errs.String())
			}
			if c.code == 10 && !strings.Contains(errs.String(), "standard output could not be written") {
				t.Errorf("%s: %s", c.streams, errs.String())
			}
		}
	}
	if e := p.run("doctor"); e.code != 0 { // a closed descriptor was not taken for the store
		t.Errorf("doctor: %s", e.errs)
	}
}

// A script with the line ends of Windows, a database and a folder with spaces
// and letters of all kinds, and text in them: what comes out is what went in.
func TestLetters(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.dir = filepath.Join(p.dir, "mój folder 你好 👩‍👩‍👧")
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const answer = "Zażółć gęślą jaźń · Съешь же ещё · 你好 · 👩‍👩‍👧 · é"
	p.file("script one.json", "{\"turns\":[\r\n  {\"text\":\""+answer+"\"}\r\n]}\r\n")
	out, err := p.command("run", "--model", "script:script one.json", answer).Output()
	if err != nil || strings.TrimSuffix(string(out), "\n") != answer {
		t.Errorf("got %q, %v", out, err)
	}
	e := p.run("run", "--model", "script:script one.json", "--session", "s", answer)
	if e.result.Answer != answer {
		t.Errorf("got %q", e.result.Answer)
	}
	for _, line := range strings.Split(e.errs, "\n") {
		if strings.Contains(line, "\uFFFD") {
			t.Errorf("a letter was cut: %q", line)
		}
	}
}
