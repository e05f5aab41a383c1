package session

// Live is how many sessions the host knows of besides their journals.
func (h *Host) Live() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.live)
}
