package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

func TestRun(t *testing.T) {
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// M1: the model of the example keeps the contract.
func TestModel(t *testing.T) {
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"text":"Pieces of eight!"}`))
	}))
	defer answers.Close()
	stop := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	defer silent.Close()
	defer close(stop)
	modeltest.Run(t, func() uzda.Model { return Model{URL: answers.URL} }, modeltest.Options{
		Same: true, Slow: func() uzda.Model { return Model{URL: silent.URL} },
	})
}
