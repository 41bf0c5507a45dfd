package serving

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"time"
)

// Pods of the local cluster have loopback addresses, which Endpoints may not
// hold. There 10.1.2.3 stands for 127.1.2.3. The activator listens on the very
// ports that it dials at pods, on all addresses of its room, so that ports of pods
// are moved up in Endpoints and moved back where the way leads out of the room.
const podPorts = 10000

func podWay(port int) string { return fmt.Sprintf("-out=%d=%d", podPorts+port, port) }

func endpointOf(podIP string) (string, error) {
	address, err := netip.ParseAddr(podIP)
	if err != nil || !address.Is4() {
		return "", fmt.Errorf("the pod's address is %q", podIP)
	}
	octets := address.As4()
	octets[0] = 10
	return netip.AddrFrom4(octets).String(), nil
}

// behind is what an address in Endpoints stands for.
func behind(endpoint string, port int32) (string, error) {
	address, err := netip.ParseAddr(endpoint)
	if err != nil || !address.Is4() {
		return "", fmt.Errorf("the endpoint is %q", endpoint)
	}
	octets := address.As4()
	octets[0] = 127
	if port > podPorts {
		port -= podPorts
	}
	return net.JoinHostPort(netip.AddrFrom4(octets).String(), strconv.Itoa(int(port))), nil
}

// writeHosts names what the activator finds without a proxy.
func writeHosts(file string) error {
	text := "127.0.0.1 localhost\n" + autoscalerAddress + " autoscaler." + systemNamespace + ".svc.cluster.local\n"
	return os.WriteFile(file, []byte(text), 0o644)
}

// ready waits until the URL answers 200 to what looks like the kubelet.
func (s *Serving) ready(url string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/test")
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	for deadline := time.Now().Add(readyWithin); ; time.Sleep(50 * time.Millisecond) {
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("%s answers %s", url, response.Status)
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}
