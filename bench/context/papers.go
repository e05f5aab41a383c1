package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// papers is the work of the 60-document test as a session: as many documents of
// about 1,000 tokens, one after the other, with a remark on each.
func papers(ctx context.Context, docs int) (*story, error) {
	t := tell(plainHead())
	t.post("Read all documents and tell which invoices are due.")
	for n := 1; n <= docs; n++ {
		prose := strings.Repeat("The supplier delivered timber after the storm while clerks compared ledgers and nobody found reason to doubt.\n", 44)
		text := fmt.Sprintf("Document %d\nInvoice INV-%05d over %d.%02d PLN is due on 2031-%02d-%02d.\n%s", n, 20417+n*37, 3000+n*271, n, 1+n%12, 1+n%28, prose)
		t.do(strings.Repeat("It seems to be in order and matches what the others of its kind have said so far. ", 6),
			act{tool: "read_document", input: json.RawMessage(fmt.Sprintf(`{"number":%d}`, n)), result: text})
	}
	return t.story(ctx, "60 documents", "papers", plainHead(), nil)
}
