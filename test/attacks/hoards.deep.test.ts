// One file, as these share one stack.
import { testBodies } from './hoards/bodies.ts';
import './hoards/streams.ts';
import './hoards/media.ts';

testBodies({ rounds: 40 });
