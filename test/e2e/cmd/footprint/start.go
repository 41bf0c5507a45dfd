package main

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/child"
)

const (
	starts     = 20
	listenTime = 10 * time.Second
)

// startTimes starts the function many times and takes the time from exec until
// its port accepts a connection.
func startTimes(program, kubeconfig string) (figure, error) {
	var took []time.Duration
	for range starts {
		d, err := startTime(program, kubeconfig)
		if err != nil {
			return figure{}, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return figure{"roll-fn: exec to listening, median of 20",
		fmt.Sprintf("%s (%s to %s)", millis(took[starts/2]), millis(took[0]), millis(took[starts-1])), "< 100 ms"}, nil
}

func startTime(program, kubeconfig string) (time.Duration, error) {
	const address = "127.0.0.1:19999"
	began := time.Now()
	p, err := child.Start(child.Command{Name: "roll-fn", Path: program,
		Args: []string{"--listen=" + address, "--kubeconfig=" + kubeconfig, "--namespaces=*"}})
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	for time.Since(began) < listenTime && p.Alive() {
		if connection, err := net.Dial("tcp", address); err == nil {
			took := time.Since(began)
			return took, connection.Close()
		}
		time.Sleep(200 * time.Microsecond)
	}
	return 0, fmt.Errorf("roll-fn does not listen on %s", address)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }
