// Package admission puts manifests before Knative's own types, with the settings of
// a released Knative, as its webhooks do; it needs no cluster.
package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	eventingv1beta3 "knative.dev/eventing/pkg/apis/eventing/v1beta3"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"
	"knative.dev/pkg/apis"
	servingv1 "knative.dev/serving/pkg/apis/serving/v1"
	"sigs.k8s.io/yaml"
)

// object is what Knative's admission webhooks do with each of their types.
type object interface {
	SetDefaults(context.Context)
	Validate(context.Context) *apis.FieldError
}

// kinds are the types of config/ that Knative owns.
var kinds = map[schema.GroupVersionKind]func() object{
	eventingv1.SchemeGroupVersion.WithKind("Broker"):         func() object { return &eventingv1.Broker{} },
	eventingv1.SchemeGroupVersion.WithKind("Trigger"):        func() object { return &eventingv1.Trigger{} },
	eventingv1beta3.SchemeGroupVersion.WithKind("EventType"): func() object { return &eventingv1beta3.EventType{} },
	sourcesv1.SchemeGroupVersion.WithKind("SinkBinding"):     func() object { return &sourcesv1.SinkBinding{} },
	servingv1.SchemeGroupVersion.WithKind("Service"):         func() object { return &servingv1.Service{} },
}

// admit is the manifest as it would be stored: with Knative's defaults, if it is
// one of Knative's kinds, and unchanged otherwise. known says which it was.
func admit(ctx context.Context, manifest []byte) (stored []byte, known bool, err error) {
	var plain unstructured.Unstructured
	if err := yaml.Unmarshal(manifest, &plain.Object); err != nil {
		return nil, false, err
	}
	fresh, known := kinds[plain.GroupVersionKind()]
	if !known {
		return manifest, false, nil
	}
	name := plain.GetKind() + " " + plain.GetName()
	raw, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return nil, true, err
	}
	o := fresh()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields() // the schemas in the CRDs refuse them too
	if err := decoder.Decode(o); err != nil {
		return nil, true, fmt.Errorf("%s: %w", name, err)
	}
	ctx = apis.WithinCreate(ctx)
	o.SetDefaults(ctx)
	if refusal := o.Validate(ctx); refusal != nil {
		return nil, true, fmt.Errorf("%s: %w", name, refusal)
	}
	stored, err = yaml.Marshal(o)
	return stored, true, err
}
