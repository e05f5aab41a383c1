package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Commit is what a release is built of.
type Commit struct {
	ID    string
	At    time.Time // when it was committed
	Tag   string    // the nearest tag, as "git describe --tags" says it; "" if there is none
	Dirty []string  // files that differ from it, as "git status" says it
}

// Head reads the commit that is checked out in a folder.
func Head(ctx context.Context, dir string) (Commit, error) {
	line, err := git(ctx, dir, "log", "-1", "--format=%H %ct")
	if err != nil {
		return Commit{}, err
	}
	id, seconds, _ := strings.Cut(line, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return Commit{}, fmt.Errorf("git log says %q: %w", line, err)
	}
	c := Commit{ID: id, At: time.Unix(at, 0).UTC()}
	status, err := git(ctx, dir, "--no-optional-locks", "status", "--porcelain")
	if err != nil {
		return Commit{}, err
	}
	for l := range strings.Lines(status) {
		c.Dirty = append(c.Dirty, strings.TrimRight(l, "\n"))
	}
	if tag, err := git(ctx, dir, "describe", "--tags"); err == nil { // it fails where there is none
		c.Tag = tag
	}
	return c, nil
}

// Version is how a build of the commit is called where nobody names it: by its tag,
// else as Go calls a commit without one.
func (c Commit) Version() string {
	v := c.Tag
	if !IsVersion(v) {
		v = "v0.0.0-" + c.At.Format("20060102150405") + "-" + c.ID[:min(12, len(c.ID))]
	}
	if len(c.Dirty) > 0 {
		v += "+dirty"
	}
	return v
}

var version = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// IsVersion says whether a text is a version as Go and SemVer write them: v0.1.0.
func IsVersion(text string) bool { return version.MatchString(text) }

// Tagged returns the commit that a tag names, "" if there is no such tag.
func Tagged(ctx context.Context, dir, tag string) string {
	id, err := git(ctx, dir, "rev-parse", "--quiet", "--verify", "refs/tags/"+tag+"^{commit}")
	if err != nil {
		return ""
	}
	return id
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	var said bytes.Buffer
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Stderr = dir, &said
	out, err := c.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("this needs git, which is not on the PATH")
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
