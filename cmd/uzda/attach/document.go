package attach

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda/internal/charset"
	"github.com/uzda-dev/uzda/internal/pdf"
)

func isPDF(data []byte) bool { return pdf.Is(data) }

// pdf takes the text of a document, page by page.
func (l Limits) pdf(ctx context.Context, f *File, data []byte) error {
	f.Kind, f.Type = PDF, "application/pdf"
	limits := pdf.Limits{Text: 4 * l.Text}
	read, err := l.extract(ctx, data, limits)
	if err != nil {
		return l.refused(ctx, f, err)
	}
	f.Pages = len(read)
	letters, unread, pictures, empty := 0, 0, 0, 0
	var b strings.Builder
	for i, p := range read {
		letters, unread, pictures = letters+p.Letters, unread+p.Unread, pictures+p.Pictures
		fmt.Fprintf(&b, "[page %d of %d]\n", i+1, len(read))
		switch {
		case p.Text != "":
			b.WriteString(p.Text)
		case p.Pictures > 0:
			empty++
			b.WriteString("[no text: a picture]")
		default:
			empty++
			b.WriteString("[empty]")
		}
		b.WriteString("\n")
	}
	switch {
	case empty == len(read) && pictures > 0:
		return &Error{f.Path, fmt.Sprintf("it has no text: its %s are pictures, as of a scan", pages(len(read))), "attach the pages as PNG or JPEG, or make a PDF with text of it (ocrmypdf does)"}
	case empty == len(read):
		return &Error{f.Path, fmt.Sprintf("there is no text on its %s", pages(len(read))), "see whether it is the file that you mean; drawn letters can be attached as a picture"}
	case 2*unread > letters:
		return &Error{f.Path, "its fonts do not say which letters they draw, so its text cannot be read", "attach the pages as PNG or JPEG, or make a PDF with text of it (ocrmypdf does)"}
	}
	f.text = b.String()
	return nil
}

// extract reads the pages. A fault of the reader is the document's.
func (l Limits) extract(ctx context.Context, data []byte, limits pdf.Limits) (read []pdf.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Time)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			read, err = nil, pdf.ErrBroken
		}
	}()
	return pdf.Read(ctx, data, limits)
}

// refused says why a document has no text to send.
func (l Limits) refused(ctx context.Context, f *File, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	what, hint := err.Error(), "open it with a program that shows PDF, and print it into a new one"
	var limit *pdf.LimitError
	switch {
	case errors.Is(err, pdf.ErrEncrypted):
		what, hint = "it is encrypted, so its text cannot be read", "save it without a password (qpdf --decrypt IN OUT does), and attach that"
	case errors.Is(err, context.DeadlineExceeded):
		what = fmt.Sprintf("its text could not be read in %s", l.Time)
	case errors.As(err, &limit) && limit.What == "text":
		what, hint = fmt.Sprintf("its text has more than %s bytes, and a message takes %s", charset.Commas(int64(limit.Most)), charset.Commas(int64(l.Text))), LargeHint(f)
	case errors.As(err, &limit) && limit.What == "pages":
		hint = LargeHint(f)
	}
	return &Error{f.Path, what, hint}
}
