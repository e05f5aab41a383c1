package shell

// An ends keeps the beginning and the end of what is written to it, half bytes of each.
type ends struct {
	half  int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
}

// Write never fails.
func (e *ends) Write(p []byte) (int, error) {
	all := len(p)
	e.total += int64(all)
	n := min(all, e.half-len(e.head))
	e.head = append(e.head, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		if len(e.tail) < e.half {
			n = min(len(p), e.half-len(e.tail))
			e.tail = append(e.tail, p[:n]...)
			continue
		}
		n = copy(e.tail[e.next:], p)
		e.next = (e.next + n) % e.half
	}
	return all, nil
}

// text returns the beginning and the end, and how many bytes are missing between
// them: with none, all is in the beginning.
func (e *ends) text() (head, tail string, gap int64) {
	gap = e.total - int64(len(e.head)+len(e.tail))
	if gap == 0 {
		return string(append(e.head, e.tail...)), "", 0
	}
	return string(e.head), string(e.tail[e.next:]) + string(e.tail[:e.next]), gap
}
