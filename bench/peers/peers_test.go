package peers_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/provider"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

// Each peer does all the steps of the task, and its figures are those of real work.
func TestPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds three programs")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "./...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as CI has built them already
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := httptest.NewServer(provider.New(5))
	t.Cleanup(s.Close) // the tests below run after this one has returned
	for _, name := range []string{"fantasy", "eino", "toolrunner"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := provider.Path(5, name)
			raw, err := json.Marshal(task.Task{URL: s.URL + path + "/v1", Steps: 5, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			var errs bytes.Buffer
			c := exec.Command(filepath.Join(dir, name), "as", name, string(raw))
			c.Stderr = &errs
			out, err := c.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, &errs)
			}
			var r task.Result
			if err := json.Unmarshal(out, &r); err != nil || r.Answer != task.Answer || r.CPU <= 0 || r.Wall <= 0 || r.Mallocs < 1000 || r.Bytes < 1000 {
				t.Errorf("%+v, %v", r, err)
			}
			resp, err := http.Get(s.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var seen provider.Seen
			if err := json.NewDecoder(resp.Body).Decode(&seen); err != nil || seen.Requests != 6 || seen.Answers != 1 {
				t.Errorf("%+v, %v", seen, err)
			}
		})
	}
}
