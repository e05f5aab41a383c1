// Package peers holds the programs of other frameworks that the benchmark runs beside
// Uzda. They are a module of their own, so that what they need is needed by nobody else.
package peers
