package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// Work is what a verifier sees: the task and what came of it, nothing else.
type Work struct {
	Session uzda.SessionID
	Task    string // the messages that were posted, oldest first
	Answer  string
	Dir     string
}

// A Verifier checks what the model takes for its end. It is asked beside the
// loop; after a crash it is asked again.
type Verifier interface {
	// Verify says whether the work is done, and what the model is told if not. An
	// error is a check that could not be made: it counts as failed.
	Verify(ctx context.Context, w Work) (ok bool, text string, err error)
	// String says what checks, for people.
	String() string
}

// A Paid verifier asks a model. It spends the turn's budget: what Bound says, or
// a generous guess without it, is reserved before.
type Paid interface {
	Verifier
	// Ask is Verify with what it used of which model.
	Ask(ctx context.Context, w Work) (ok bool, text string, used uzda.Usage, err error)
	Model() uzda.ModelInfo
}

// A Bounded verifier knows how many tokens it uses at most.
type Bounded interface {
	Bound(w Work) (input, output int)
}

func (s *State) work(id uzda.SessionID) Work {
	return Work{Session: id, Answer: s.Turn.Answer, Dir: s.Opened.Dir, Task: strings.Join(s.Turn.Task, "\n\n")}
}

// Command verifies by running a command in the session's directory: exit 0 is
// good. The end of its output goes back to the model.
type Command struct {
	Line    string        // run by the system's shell
	Timeout time.Duration // default 10 minutes
}

var _ Verifier = Command{}

// String returns the command line.
func (c Command) String() string { return c.Line }

// Verify runs the command.
func (c Command) Verify(ctx context.Context, w Work) (bool, string, error) {
	ctx, cancel := context.WithTimeout(ctx, or(c.Timeout, 10*time.Minute))
	defer cancel()
	shell, flag := "/bin/sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	cmd := exec.CommandContext(ctx, shell, flag, c.Line)
	cmd.Dir, cmd.WaitDelay = w.Dir, time.Second
	cmd.Env = append(os.Environ(), "UZDA_SESSION="+string(w.Session))
	out := &tail{max: 2000}
	cmd.Stdout, cmd.Stderr = out, out
	ownGroup(cmd)
	err := cmd.Run()
	if err == nil {
		return true, "", nil
	}
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("it did not end within %s", or(c.Timeout, 10*time.Minute))
	}
	text := strings.ToValidUTF8(uzda.After(string(out.end), out.max), "\uFFFD")
	return false, fmt.Sprintf("The check `%s` failed (%v). The end of its output:\n%s\nFix what it says and finish again.", c.Line, err, text), nil
}

// tail keeps the end of what is written to it.
type tail struct {
	max int
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p[max(0, len(p)-t.max):]...)
	if over := len(t.end) - t.max; over > t.max { // seldom, so that it costs little
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(p), nil
}

// Judge verifies by a model with a fresh context, which sees only the task and
// the result.
type Judge struct {
	By     uzda.Model
	Rubric string // what makes the result good; one dimension
}

var (
	_ Paid    = Judge{}
	_ Bounded = Judge{}
)

const judgeTokens = 1000 // of its answer

// String names the judge.
func (j Judge) String() string { return "judge " + j.Model().ID }

// Model describes the judge's model.
func (j Judge) Model() uzda.ModelInfo {
	if d, ok := j.By.(uzda.Describer); ok {
		return d.Describe()
	}
	return uzda.ModelInfo{ID: "unnamed"}
}

// Bound says what the judge uses at most: a token for two bytes that it reads.
func (j Judge) Bound(w Work) (input, output int) {
	return (len(judgeSystem)+len(j.Rubric)+len(w.Task)+len(w.Answer))/2 + 100, judgeTokens
}

// Verify asks the judge.
func (j Judge) Verify(ctx context.Context, w Work) (bool, string, error) {
	ok, text, _, err := j.Ask(ctx, w)
	return ok, text, err
}

const judgeSystem = `You check whether a result fulfils a task. You see only the task and the result. Answer with one JSON object and nothing else: {"verdict":"pass" or "fail","reasons":"what is missing or wrong, in at most three sentences"}. If you cannot tell, the verdict is fail.`

// Ask asks the judge, once.
func (j Judge) Ask(ctx context.Context, w Work) (bool, string, uzda.Usage, error) {
	ask := fmt.Sprintf("<task>\n%s\n</task>\n<result>\n%s\n</result>", w.Task, w.Answer)
	if j.Rubric != "" {
		ask = "<rubric>\n" + j.Rubric + "\n</rubric>\n" + ask
	}
	req := &uzda.Request{Agent: "judge", Head: uzda.Head{Model: j.Model().ID, System: judgeSystem, Params: uzda.Params{MaxTokens: judgeTokens}}, Max: judgeTokens, Ask: 1,
		View: []uzda.Entry{{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(ask)}}}}
	reply, err := uzda.Collect(j.By.Stream(ctx, req), nil)
	if err != nil {
		return false, "", reply.Stop.Usage, err
	}
	text := reply.Message.String()
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	var v struct{ Verdict, Reasons string }
	if from < 0 || to < from || json.Unmarshal([]byte(text[from:to+1]), &v) != nil || v.Verdict != "pass" && v.Verdict != "fail" {
		return false, "", reply.Stop.Usage, fmt.Errorf("the judge did not answer in the form that was asked for: %q", uzda.Clip(text, 200))
	}
	return v.Verdict == "pass", "A check of your result says that it is not done: " + v.Reasons + "\nFix it and finish again.", reply.Stop.Usage, nil
}
