package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
)

// way is one port that leads into the room or out of it.
type way struct {
	inward bool
	listen string // address outside, or port inside
	to     string // ADDRESS:PORT; an address left empty is the one dialled
}

func parse(in, out []string) (ways []way, err error) {
	for _, text := range in {
		listen, port, given := strings.Cut(text, "=")
		address, own, err := net.SplitHostPort(withColon(listen))
		if err != nil {
			return nil, fmt.Errorf("way in %q: %w", text, err)
		}
		if !given {
			port = own
		}
		if address == "" {
			if address, err = podAddress("/etc/hosts"); err != nil {
				return nil, err
			}
		}
		ways = append(ways, way{inward: true, listen: net.JoinHostPort(address, own), to: net.JoinHostPort("127.0.0.1", port)})
	}
	for _, text := range out {
		port, to, given := strings.Cut(text, "=")
		if !given {
			to = port
		}
		if port == "" || to == "" {
			return nil, fmt.Errorf("way out %q has no port", text)
		}
		ways = append(ways, way{listen: ":" + port, to: withColon(to)})
	}
	return ways, nil
}

func withColon(text string) string {
	if strings.Contains(text, ":") {
		return text
	}
	return ":" + text
}

// podAddress is what the file says about this pod, whose name is its host name.
func podAddress(file string) (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[1] == name {
			return words[0], nil
		}
	}
	return "", fmt.Errorf("%s has no line for %s", file, name)
}

// outside is where a connection leads that came to local in the room.
func (w way) outside(local net.Addr) (string, error) {
	address, port, err := net.SplitHostPort(w.to)
	if err != nil || address != "" {
		return w.to, err
	}
	dialled, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return "", err
	}
	octets := dialled.Addr().Unmap().As4()
	octets[0] = 127
	return net.JoinHostPort(netip.AddrFrom4(octets).String(), port), nil
}
