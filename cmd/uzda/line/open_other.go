//go:build !unix

package line

func (t *Terminal) watch() (stop func()) { return func() {} }

func (t *Terminal) suspend() {}
