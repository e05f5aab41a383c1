package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
)

// tmpfs mounts a small file system, or skips the test.
func tmpfs(t *testing.T, bytes string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+bytes); err != nil {
		t.Skipf("SKIPPED: a small tmpfs cannot be mounted here (%v); TestDiskFaults covers it with faults of our own", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// case:S08: on a full disk an append gives ENOSPC, the journal stays as it was,
// and appends work again when there is space.
func TestFullDisk(t *testing.T) {
	dir := tmpfs(t, "256k")
	st := open(t, filepath.Join(dir, "store"), journal.FilesOptions{})
	epoch, err := st.Acquire(ctx, id, "test")
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 100<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		n := 0
		for err = nil; err == nil; n++ {
			at, bodies := rich(round*1000+n, epoch)
			if n%2 == 0 { // small appends fill the last page of the journal itself
				at, bodies = uzda.At{Head: uzda.AnyHead}, []uzda.Body{note(fmt.Sprint("small", round, n), strings.Repeat("é", 5000))}
			}
			before := read(t, st, id)
			if _, err = st.Append(ctx, id, at, bodies...); err != nil {
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("full disk: %v", err)
				}
				if after := read(t, st, id); !reflect.DeepEqual(after, before) {
					t.Errorf("full disk: %d events, had %d", len(after), len(before))
				}
				sound(t, st)
			}
		}
		if round == 0 {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		}
	}
	again := open(t, filepath.Join(dir, "store"), journal.FilesOptions{})
	if len(read(t, again, id)) == 0 {
		t.Error("nothing was stored")
	}
	if err := st.Release(ctx, id, epoch); err != nil {
		t.Errorf("release on a full disk: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Logf("close on a full disk: %v", err)
	}
}

// A folder that cannot be used is refused, with what to do.
func TestRefusedFolders(t *testing.T) {
	t.Run("a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{file, filepath.Join(file, "sub")} {
			refused(t, dir, journal.FilesOptions{}, syscall.ENOTDIR)
		}
	})
	t.Run("read only", func(t *testing.T) {
		dir := tmpfs(t, "64k")
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, journal.FilesOptions{}, syscall.EROFS)
		refused(t, filepath.Join(dir, "sub"), journal.FilesOptions{}, syscall.EROFS)
	})
	t.Run("it has become read only", func(t *testing.T) {
		dir := tmpfs(t, "1m")
		st := open(t, dir, journal.FilesOptions{})
		post(t, st, note(1, "one"))
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, note(2, "two")); !errors.Is(err, syscall.EROFS) {
			t.Errorf("append: %v", err)
		}
		if n := len(read(t, st, id)); n != 1 { // reading goes on
			t.Errorf("%d events, want 1", n)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, ""); err != nil {
			t.Fatal(err)
		}
		post(t, st, note(2, "two"))
	})
	t.Run("durability", func(t *testing.T) {
		refused(t, t.TempDir(), journal.FilesOptions{Durability: "maybe"}, nil)
	})
}

func refused(t *testing.T, dir string, o journal.FilesOptions, want error) {
	t.Helper()
	st, err := journal.OpenFiles(dir, o)
	if err == nil {
		st.Close()
		t.Fatalf("open %s: no error", dir)
	}
	if want != nil && !errors.Is(err, want) {
		t.Errorf("open: %v, want %v", err, want)
	}
	if !strings.Contains(err.Error(), dir) {
		t.Errorf("the error does not name the folder: %v", err)
	}
}
