package abuse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// hostile writes one raw request that asks for nothing a function may do. It
// is raw, so that what no client library would send is sent as well.
func hostile(r *rand.Rand) []byte {
	kinds := []func(*rand.Rand) []byte{noise, noEvent, foreign, badSubject, wrongResume, forgedContinue, extraData, injected, tooLarge, batch, mangled, strangeMethod}
	return kinds[r.IntN(len(kinds))](r)
}

func request(method, path string, headers []string, body string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: roll-fn\r\nConnection: close\r\n", method, path)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.Bytes()
}

func binary(eventType, subject, id string, more ...string) []string {
	return append([]string{"Content-Type: application/json", "Ce-Specversion: 1.0", "Ce-Id: " + id, "Ce-Source: /hostile",
		"Ce-Type: " + eventType, "Ce-Subject: " + subject}, more...)
}

const (
	diverged  = "dev.etcdroll.statefulset.diverged.v1"
	following = "dev.etcdroll.rollout.continue.v1"
	resume    = "dev.etcdroll.rollout.resume.v1"
)

func text(r *rand.Rand, n int) string {
	b := make([]byte, r.IntN(n))
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return string(b)
}

func oneOf(r *rand.Rand, all ...string) string { return all[r.IntN(len(all))] }

func noise(r *rand.Rand) []byte { return []byte(text(r, 400) + "\r\n\r\n") }

func noEvent(r *rand.Rand) []byte {
	types := []string{"application/json", "text/html", "application/cloudevents+json", "application/cloudevents-batch+json", "multipart/form-data; boundary=x", "\x00"}
	return request("POST", "/", []string{"Content-Type: " + oneOf(r, types...)}, text(r, 2000))
}

// foreign are events of others and our own facts, which ask for nothing.
func foreign(r *rand.Rand) []byte {
	kind := oneOf(r, "com.example.anything", "dev.etcdroll.rollout.halted.v1", "dev.etcdroll.rollout.converged.v1", "dev.etcdroll.rollout.resume.v99", strings.Repeat("x", 500))
	return request("POST", "/", binary(kind, "db/etcd", "1"), `{}`)
}

func badSubject(r *rand.Rand) []byte {
	subject := oneOf(r, "", "etcd", "db/", "/etcd", "db/etcd/x", "../etcd", "db/../../secrets/etcd-auth", "db%2Fetcd", "kube-system/etcd",
		"db/"+strings.Repeat("a", 3000), "DB/ETCD", "db/etcd\x00", "db/etcd?watch=true", "db/etcd#", "db/é", text(r, 60))
	return request("POST", "/", binary(oneOf(r, diverged, following, resume), subject, "1"), `{"haltId":"`+haltID+`","seq":9}`)
}

func wrongResume(r *rand.Rand) []byte {
	id := oneOf(r, "", "halt-6", "HALT-7", haltID+" ", "*", "null", `{"$ne":""}`, strings.Repeat("h", 1000))
	body := oneOf(r, fmt.Sprintf(`{"haltId":%q}`, id), `{"haltId":null}`, `{"haltId":7}`, `["`+haltID+`"]`, `{}`, ``, `{"haltID":"`+haltID+`x"}`)
	return request("POST", "/", binary(resume, "db/etcd", "1"), body)
}

func forgedContinue(r *rand.Rand) []byte {
	seq := oneOf(r, "-1", "9223372036854775807", "99999999999999999999", "1e3", "0x9", "", "9 9", "8")
	return request("POST", "/", binary(following, "db/etcd", "1", "Ce-Sequence: "+seq, "Ce-Notbefore: "+text(r, 30)), `{"seq":`+seq+`}`)
}

// extraData asks for a look, which is allowed, and adds orders, which nobody reads.
func extraData(r *rand.Rand) []byte {
	orders := `{"partition":0,"victim":0,"force":true,"endpoints":["http://127.0.0.1:1"],"haltId":"` + haltID + `","config":"../x","podUID":"pod"}`
	return request("POST", "/", binary(diverged, oneOf(r, "db/etcd", "db/other", "db/absent"), "1",
		"Ce-Partition: 0", "Ce-Force: true", "X-Forwarded-For: 10.0.0.1", "Authorization: Bearer x"), orders)
}

func injected(r *rand.Rand) []byte {
	evil := oneOf(r, "x\\n{\"level\":\"INFO\",\"msg\":\"forged\"}", "x\x1b[2J", "x\u2028forged", "x\"},{\"msg\":\"forged\"")
	return request("POST", "/", binary(oneOf(r, evil, diverged), oneOf(r, "db/"+evil, "db/etcd"), evil), "{")
}

func tooLarge(r *rand.Rand) []byte {
	if r.IntN(4) > 0 {
		return request("POST", "/", binary(diverged, "db/etcd", "1"), "{")
	}
	if r.IntN(2) == 0 {
		return request("POST", "/", append(binary(diverged, "db/etcd", "1"), "X: "+strings.Repeat("x", 200<<10)), "")
	}
	return request("POST", "/", binary(diverged, "db/etcd", "1"), `{"a":"`+strings.Repeat("x", 1<<20)+`"}`)
}

func batch(*rand.Rand) []byte {
	one := `{"specversion":"1.0","id":"1","source":"/x","type":"` + resume + `","subject":"db/etcd","data":{"haltId":"` + haltID + `"}}`
	return request("POST", "/", []string{"Content-Type: application/cloudevents-batch+json"}, "["+one+","+one+"]")
}

// mangled is a structured event with some bytes changed. The right halt id is
// never in it.
func mangled(r *rand.Rand) []byte {
	body := []byte(`{"specversion":"1.0","id":"1","source":"/x","type":"` + resume + `","subject":"db/etcd","datacontenttype":"application/json","data":{"haltId":"halt-8"}}`)
	for range 1 + r.IntN(6) {
		if i := r.IntN(len(body)); body[i] != '8' {
			body[i] = byte(r.IntN(256))
		}
	}
	return request("POST", "/", []string{"Content-Type: application/cloudevents+json"}, string(body))
}

func strangeMethod(r *rand.Rand) []byte {
	return request(oneOf(r, "GET", "PUT", "DELETE", "TRACE", "CONNECT", "PATCH", "OPTIONS", "POST"), oneOf(r, "/", "/debug/pprof/heap", "/../etc/passwd", "//", "/metrics", "*"),
		[]string{"Ce-Type: " + diverged}, text(r, 100))
}
