package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/test/local/podip"
)

const oldVersion, newVersion = "3.6.16", "3.7.3"

// example is the StatefulSet and Service of examples/etcd.yaml, moved to a namespace.
func example(t *testing.T, namespace string) (*appsv1.StatefulSet, *corev1.Service) {
	t.Helper()
	content, err := os.ReadFile("examples/etcd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for i := range 3 {
		name := fmt.Sprintf("etcd-%d", i)
		text = strings.ReplaceAll(text, podip.For("demo", name), podip.For(namespace, name))
	}
	set, service := &appsv1.StatefulSet{}, &corev1.Service{}
	for _, doc := range strings.Split(text, "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "StatefulSet":
			err = yaml.UnmarshalStrict([]byte(doc), set)
		case "Service":
			err = yaml.UnmarshalStrict([]byte(doc), service)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	set.Namespace, service.Namespace = namespace, namespace
	return set, service
}

func TestExampleHasTheRightAddresses(t *testing.T) {
	content, err := os.ReadFile("examples/etcd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		want := fmt.Sprintf("etcd-%d=http://%s:2380", i, podip.For("demo", fmt.Sprintf("etcd-%d", i)))
		if !strings.Contains(string(content), want) {
			t.Errorf("examples/etcd.yaml lacks %s", want)
		}
	}
}

// testEtcd creates the example, rolls it to the next minor and deletes a member.
func testEtcd(t *testing.T, l *local) {
	ns := l.namespace(t)
	set, service := example(t, ns)
	if _, err := l.client.CoreV1().Services(ns).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.client.AppsV1().StatefulSets(ns).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.untilRolled(t, ns, 1)
	assertVersions(t, ns, oldVersion)
	call(t, ns, 0, "/v3/kv/put", map[string]string{"key": b64("hello"), "value": b64("world")})

	before := l.uids(t, ns)
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"etcd","image":"registry.local/etcd:v%s"}]}}}}`, newVersion)
	if _, err := l.client.AppsV1().StatefulSets(ns).Patch(t.Context(), "etcd", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	l.untilRolled(t, ns, 2)
	assertVersions(t, ns, newVersion)
	for name, uid := range l.uids(t, ns) {
		if before[name] == uid {
			t.Errorf("%s was not replaced", name)
		}
	}
	assertKey(t, ns)

	uid := l.uids(t, ns)["etcd-1"]
	if err := l.client.CoreV1().Pods(ns).Delete(t.Context(), "etcd-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "etcd-1 is replaced", func(context.Context) error {
		if now := l.uids(t, ns)["etcd-1"]; now == "" || now == uid {
			return fmt.Errorf("uid is %q", now)
		}
		return nil
	})
	l.untilRolled(t, ns, 2)
	assertKey(t, ns)
}

// untilRolled waits until all three members are Ready on the latest template.
func (l *local) untilRolled(t *testing.T, ns string, generation int64) {
	t.Helper()
	eventually(t, "the set is rolled", func(ctx context.Context) error {
		s, err := l.client.AppsV1().StatefulSets(ns).Get(ctx, "etcd", metav1.GetOptions{})
		if err != nil {
			return err
		}
		st := s.Status
		if st.ObservedGeneration < generation || st.ReadyReplicas != 3 || st.UpdatedReplicas != 3 || st.CurrentRevision != st.UpdateRevision {
			return fmt.Errorf("status is %+v", st)
		}
		pods, err := l.client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: "app=etcd"})
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.DeletionTimestamp != nil || p.Status.PodIP != podip.For(ns, p.Name) || !podReady(&p) {
				return fmt.Errorf("pod %s is %+v", p.Name, p.Status)
			}
		}
		return nil
	})
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (l *local) uids(t *testing.T, ns string) map[string]types.UID {
	t.Helper()
	pods, err := l.client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]types.UID{}
	for _, p := range pods.Items {
		out[p.Name] = p.UID
	}
	return out
}

func assertVersions(t *testing.T, ns, want string) {
	t.Helper()
	for i := range 3 {
		response, err := http.Get(fmt.Sprintf("http://%s:2379/version", podip.For(ns, fmt.Sprintf("etcd-%d", i))))
		if err != nil {
			t.Fatal(err)
		}
		var version struct{ Etcdserver string }
		err = json.NewDecoder(response.Body).Decode(&version)
		_ = response.Body.Close()
		if err != nil || version.Etcdserver != want {
			t.Errorf("member %d runs %q (%v), want %s", i, version.Etcdserver, err, want)
		}
	}
}

// assertKey reads the key through every member.
func assertKey(t *testing.T, ns string) {
	t.Helper()
	for i := range 3 {
		var got struct {
			Kvs []struct{ Value string } `json:"kvs"`
		}
		if err := json.Unmarshal(call(t, ns, i, "/v3/kv/range", map[string]string{"key": b64("hello")}), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Kvs) != 1 || got.Kvs[0].Value != b64("world") {
			t.Errorf("member %d answers %+v", i, got)
		}
	}
}

// call uses etcd's JSON gateway.
func call(t *testing.T, ns string, member int, path string, request map[string]string) []byte {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://%s:2379%s", podip.For(ns, fmt.Sprintf("etcd-%d", member)), path)
	var answer bytes.Buffer
	eventually(t, "etcd answers "+path, func(ctx context.Context) error {
		answer.Reset()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if _, err := answer.ReadFrom(response.Body); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", response.Status, answer.String())
		}
		return nil
	})
	return answer.Bytes()
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
