// One file, as these share one stack.
import './running-engines/realEngine.ts';
import './running-engines/engineTraffic.ts';
import './running-engines/promptCounts.ts';
import './running-engines/hugeCounts.ts';
