// Package pdf reads the text of PDF documents that nobody vouches for.
//
// It never trusts a document: no table of contents of the file is needed, every
// byte that is looked at is paid for from a purse, and what is nested, unpacked or
// repeated has its bound. A document that asks for more ends in an error.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Limits are what one document may take; zero means the default.
type Limits struct {
	Pages    int // default 1,000
	Text     int // bytes of all pages, default 4 MiB
	Unpacked int // bytes of one stream, default 32 MiB; all have four times as many
	Work     int // pieces that are looked at, default 20 million: some seconds
}

func (l Limits) filled() Limits {
	set := func(n *int, usual int) {
		if *n <= 0 {
			*n = usual
		}
	}
	set(&l.Pages, 1000)
	set(&l.Text, 4<<20)
	set(&l.Unpacked, 32<<20)
	set(&l.Work, 20_000_000)
	return l
}

// What is wrong with a document.
var (
	ErrNone      = errors.New("it is no PDF document")
	ErrBroken    = errors.New("it is a broken PDF document: no page can be found in it")
	ErrEncrypted = errors.New("it is encrypted")
)

// A LimitError says which bound a document passes.
type LimitError struct {
	What string // pages, text, unpacked, work
	Most int
}

func (e *LimitError) Error() string {
	switch e.What {
	case "pages":
		return fmt.Sprintf("it has more than %d pages", e.Most)
	case "text":
		return fmt.Sprintf("its text has more than %d bytes", e.Most)
	case "unpacked":
		return fmt.Sprintf("what it unpacks has more than %d bytes", e.Most)
	}
	return "it takes more work to read than a document should"
}

// A Page is the text of a page in the order in which it is drawn, a line a line.
type Page struct {
	Text     string
	Pictures int // that it draws
	Letters  int // that it draws
	Unread   int // of them: nothing says which they are; U+FFFD stands for each
}

// Is says whether data is a PDF document: its mark stands near its beginning.
func Is(data []byte) bool {
	const near = 1024
	return strings.Contains(string(data[:min(len(data), near)]), "%PDF-")
}

// Read returns the pages of a document. It ends with the error of ctx soon after
// that ends.
func Read(ctx context.Context, data []byte, l Limits) ([]Page, error) {
	if !Is(data) {
		return nil, ErrNone
	}
	l = l.filled()
	p := &purse{ctx: ctx, limits: l, work: l.Work, unpacked: 4 * l.Unpacked}
	f := &file{purse: p, data: data, objects: map[int]entry{}, known: map[int]object{}, busy: map[int]bool{}}
	f.scan()
	if p.err != nil {
		return nil, p.err
	}
	if f.encrypted {
		return nil, ErrEncrypted
	}
	dicts := f.pages()
	if p.err == nil && len(dicts) == 0 {
		return nil, ErrBroken
	}
	var out []Page
	size := 0
	fonts := map[int]*font{}
	for _, d := range dicts {
		page := f.read(d, fonts)
		if size += len(page.Text); size > l.Text {
			p.fail(&LimitError{"text", l.Text})
		}
		if p.err != nil {
			return nil, p.err
		}
		out = append(out, page)
	}
	return out, p.err
}

// A purse pays for work. Once it is empty all loops end.
type purse struct {
	ctx      context.Context //nolint:containedctx // of one call of Read
	limits   Limits
	work     int
	unpacked int
	next     int // work left at which ctx is asked again
	err      error
}

func (p *purse) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// spend pays n pieces of work, and says whether there is enough for them.
func (p *purse) spend(n int) bool {
	const often = 50_000
	if p.err != nil {
		return false
	}
	if p.work -= n; p.work < 0 {
		p.fail(&LimitError{"work", p.limits.Work})
		return false
	}
	if p.next == 0 || p.work < p.next {
		p.next = max(p.work-often, 1)
		if err := p.ctx.Err(); err != nil {
			p.fail(err)
		}
	}
	return p.err == nil
}
