/** A package that is in an image, as its list of contents names it. */
export interface Component {
  name: string;
  version: string;
  /** Package URL: where it comes from, its name and version, in one. */
  purl: string;
  license: string | undefined;
}
