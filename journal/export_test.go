package journal

// SetFault makes operations of a handle fail.
func (j *Files) SetFault(fault func(op, path string) (int, error)) { j.disk.fault = fault }

// Cached is how many sessions a handle remembers.
func (j *Files) Cached() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.files)
}

// Dir is the folder of the store.
func (j *Files) Dir() string { return j.disk.dir }
