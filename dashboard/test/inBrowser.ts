import { describe } from '@jest/globals';

/** `describe` where there is a browser. */
export const inBrowser = process.env.TURNPIKE_TEST_BROWSER === undefined ? describe.skip : describe;
