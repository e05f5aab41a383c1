package attach

// SafeName is the name that a path gets.
func SafeName(path string) string { return safeName(path) }
