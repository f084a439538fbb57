// One file, as these share one stack.
import { testBodies } from './hoards/bodies.ts';
import './hoards/lookUps.ts';
import './hoards/imageFetches.ts';

testBodies({ rounds: 20 });
