/** A package that is in an image, as its list of contents names it. */
export interface Component {
  name: string;
  version: string;
  /** Package URL: where it comes from, its name and version, in one. */
  purl: string;
  license: string | undefined;
}

export const toNpmComponent = (name: string, version: string, license: string | undefined): Component => ({
  name,
  version,
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  license,
});

/**
 * Lists the components of an image, as CycloneDX 1.6. The list has no date and no serial number, so the same packages give the
 * same text.
 */
export function toBillOfMaterials(image: { name: string; version: string }, components: Component[]): string {
  const byUrl = new Map(components.map((component) => [component.purl, component]));
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'container', name: image.name, version: image.version } },
    components: [...byUrl.values()]
      .sort((a, b) => (a.purl < b.purl ? -1 : 1))
      .map(({ name, version, purl, license }) => ({
        type: 'library',
        'bom-ref': purl,
        name,
        version,
        purl,
        ...(license !== undefined && { licenses: [toLicense(license)] }),
      })),
  };
  return `${JSON.stringify(bill, undefined, 2)}\n`;
}

/** One name of a licence, or an expression of several. */
const toLicense = (license: string) =>
  /\s/.test(license) ? { expression: license.trim() } : { license: { name: license } };
