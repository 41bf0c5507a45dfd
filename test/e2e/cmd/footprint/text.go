package main

// What the page says of how the figures of a chapter were taken.
const (
	howStarts = "The function is started again and again as a process of its own. *Listening* is from just before exec until its port\n" +
		"accepts a connection, tried every 0.2 ms. *The first answer* is from exec until the answer to an event about a converged set of\n" +
		"three has arrived; it includes the first connection to the API server, with TLS."

	howAnswers = "The function that rolled the set before, the same event again and again over one connection. The set has converged, so the\n" +
		"function reads it, its pods and its configuration, asks no member, and answers that there is nothing to do."

	howPhases = "The same visits that released a pod, cut at the moments at which the API server received their requests, by its audit log; the\n" +
		"median of each part, so that they need not add up to that of the whole. Connections to the members are made anew in each visit."

	howSteps = "Real rolls of a set of three, trigger to function direct, soak 1 s; leadership begins in turn on each index. A proxy between\n" +
		"the two takes the time of every visit: from when the event is sent on to the function until its whole answer has been read.\n" +
		"Which visits took a step, and which one, the function's log says: those whose write was accepted. With `--max-wait=0s` the pauses of a\n" +
		"roll lie between visits and in none of them. The time from outside is the honest one, as it is what a caller waits; the log's own\n" +
		"leaves out what happens before the first and after the last line of the handler, and is cut off to whole milliseconds.\n" +
		"All but `lock` include asking every member; `move` includes etcd's own hand-over of leadership. A step ends with the\n" +
		"Kubernetes Events about it."

	howReads = "From the API server's audit log, over the same rolls. A look begins with reading the set; a visit is one look, and one more\n" +
		"after a lost race (a patch that was refused with 409). Before a pod is given up, the pods that\n" +
		"stay are read a second time."

	howMemory = "As the kernel tells it (VmHWM and VmRSS), without any limit set from outside. The trigger at many sets is what `make bench-scale` is for."

	howNine = "The largest set that is supported, with certificates for clients and peers, on an installation of its own that makes this one roll."

	howSizes = "As `make image` builds them: static, without symbols and debug information. An image is one layer with the program and two\n" +
		"small files; its size is that of the compressed layers, which is what a node pulls."

	howProfile = "`BenchmarkStep` in pkg/fn: one visit that releases a follower of a set of three, from the request to the answer. API server and etcd\n" +
		"are played in memory, so neither TLS nor decoding of answers is in it; copies of the objects stand for that."
)
