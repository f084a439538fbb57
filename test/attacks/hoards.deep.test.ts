// One file, as these share one stack.
import './hoards/streams.ts';
import './hoards/media.ts';
import './hoards/lookUps.ts';
import './hoards/imageFetches.ts';
import './hoards/bodies.ts';
