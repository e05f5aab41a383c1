package file

// Remembered is how many sessions are held in memory at most.
const Remembered = remembered

// Sessions is how many are.
func (f *Files) Sessions() int { return len(f.sessions) }
