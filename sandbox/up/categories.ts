/**
 * Up's categories: two levels, ids as names. A list of the emulator's own, so that the adapter's table is
 * tested by it.
 */

const tree: Readonly<Record<string, readonly string[]>> = {
  'good-life': [
    'adult',
    'booze',
    'events-and-gigs',
    'games-and-software',
    'hobbies',
    'holidays-and-travel',
    'lottery-and-gambling',
    'pubs-and-bars',
    'restaurants-and-cafes',
    'takeaway',
    'tobacco-and-vaping',
    'tv-and-music',
  ],
  home: [
    'groceries',
    'home-insurance-and-rates',
    'home-maintenance-and-improvements',
    'homeware-and-appliances',
    'internet',
    'pets',
    'rent-and-mortgage',
    'utilities',
  ],
  personal: [
    'clothing-and-accessories',
    'education-and-student-loans',
    'family',
    'fitness-and-wellbeing',
    'gifts-and-charity',
    'hair-and-beauty',
    'health-and-medical',
    'investments',
    'life-admin',
    'mobile-phone',
    'news-magazines-and-books',
    'technology',
  ],
  transport: [
    'car-insurance-and-maintenance',
    'car-repayments',
    'cycling',
    'fuel',
    'parking',
    'public-transport',
    'taxis-and-share-cars',
    'toll-roads',
  ],
}

/** Every id, parents first. */
export const categoryIds: readonly string[] = [...Object.keys(tree), ...Object.values(tree).flat()]

export function parentOf(id: string): string | null {
  return Object.keys(tree).find((parent) => tree[parent]?.includes(id)) ?? null
}

export function categoryToWire(id: string, base: string): unknown {
  const parent = parentOf(id)
  const children = tree[id] ?? []
  const name = id.replaceAll('-', ' ')
  return {
    type: 'categories',
    id,
    attributes: { name: name.charAt(0).toUpperCase() + name.slice(1) },
    relationships: {
      parent: { data: parent === null ? null : { type: 'categories', id: parent } },
      children: { data: children.map((child) => ({ type: 'categories', id: child })) },
    },
    links: { self: `${base}/categories/${id}` },
  }
}
