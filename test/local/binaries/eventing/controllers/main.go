// Command controllers runs the controllers of Knative Eventing that a broker on
// in-memory channels needs, as released, in one process. As three programs they
// cannot run on one machine: each serves its probes on the port that the channel
// dispatcher serves channels on, and none has a setting for it.
package main

import (
	filteredfactory "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/signals"

	"knative.dev/eventing/pkg/auth"
	"knative.dev/eventing/pkg/eventingtls"
	"knative.dev/eventing/pkg/reconciler/broker"
	brokertrigger "knative.dev/eventing/pkg/reconciler/broker/trigger"
	"knative.dev/eventing/pkg/reconciler/eventtype"
	inmemorychannel "knative.dev/eventing/pkg/reconciler/inmemorychannel/controller"
	"knative.dev/eventing/pkg/reconciler/subscription"
)

func main() {
	ctx := sharedmain.WithHealthProbesDisabled(signals.NewContext())
	ctx = filteredfactory.WithSelectors(ctx, auth.OIDCLabelSelector, eventingtls.TrustBundleLabelSelector)
	sharedmain.MainWithContext(ctx, "eventing-controllers",
		broker.NewController,        // of cmd/mtchannel_broker
		brokertrigger.NewController, // of cmd/mtchannel_broker
		inmemorychannel.NewController,
		subscription.NewController, // of cmd/controller
		eventtype.NewController,    // of cmd/controller
	)
}
