// One file, as its rows share one stack.
import './wire/streams.ts';
import './wire/transport.ts';
