export { stopRun as default } from './startRun.mjs';
