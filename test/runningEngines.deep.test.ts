// One file, as these share one stack.
import './running-engines/oddName.ts';
import './running-engines/engineTraffic.ts';
import './running-engines/promptCounts.ts';
import './running-engines/hugeCounts.ts';
