package apiserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/fn"
)

func refuse(message string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: message})
	}
}

// A right that is missing is named first; a refusal of admission, which has the
// same code, is not called one.
func TestAMissingRightIsNamedAndARefusalOfAdmissionIsNone(t *testing.T) {
	_, c := start(t, refuse(`statefulsets.apps "etcd" is forbidden: User "u" cannot patch resource "statefulsets" in API group "apps" in the namespace "db"`))
	err := c.PatchSet(t.Context(), "db", "etcd", fn.Patch{Type: types.MergePatchType, Body: []byte(`{}`)})
	if want := `missing right: verb "patch" on resource "statefulsets" in namespace db: `; err == nil || !strings.HasPrefix(err.Error(), want) || !apierrors.IsForbidden(err) {
		t.Errorf("%v, want %s", err, want)
	}
	_, c = start(t, refuse(`statefulsets.apps "etcd" is forbidden: etcdroll changes neither template nor replicas`))
	err = c.PatchSet(t.Context(), "db", "etcd", fn.Patch{Type: types.MergePatchType, Body: []byte(`{}`)})
	if err == nil || strings.Contains(err.Error(), "missing right") || !strings.Contains(err.Error(), "neither template") {
		t.Errorf("%v", err)
	}
}
