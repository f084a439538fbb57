export { stopRunPostgres as default } from './startRunPostgres.mjs';
