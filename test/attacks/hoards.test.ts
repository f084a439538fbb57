// One file, as these share one stack.
import './hoards/bodies.ts';
import './hoards/lookUps.ts';
import './hoards/streams.ts';
import './hoards/imageFetches.ts';
import './hoards/media.ts';
