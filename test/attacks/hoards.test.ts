// One file, as these share one stack.
import './hoards/streams.ts';
import './hoards/imageFetches.ts';
