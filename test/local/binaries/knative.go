package binaries

// Knative lists the programs of `make test-knative`. Nothing else needs them, so
// they are built only when they are asked for by name.
var Knative = []Binary{
	eventing("eventing-ingress", "broker/ingress"),
	eventing("eventing-filter", "broker/filter"),
	eventing("eventing-channel-dispatcher", "in_memory/channel_dispatcher"),
	{Name: "eventing-controllers", Module: "eventing", Package: "./controllers", LDFlags: stripped},
	eventing("eventing-webhook", "webhook"),
	serving("activator"),
	serving("autoscaler"),
	serving("controller"),
	serving("webhook"),
	serving("queue"),
}

func eventing(name, command string) Binary {
	return Binary{Name: name, Module: "eventing", Package: "knative.dev/eventing/cmd/" + command, LDFlags: stripped}
}

func serving(name string) Binary {
	return Binary{Name: "serving-" + name, Module: "serving", Package: "knative.dev/serving/cmd/" + name, LDFlags: stripped}
}
