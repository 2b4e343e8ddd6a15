/**
 * What a door made of cached answers, by their bytes: it lives no longer than they do, in memory only, and
 * only who is given the bytes finds it. Bounded in bytes: when half of the bound is reached, what was not
 * used since the last time is dropped.
 */

export interface KeptForms<Form> {
  get(body: Uint8Array): Form | undefined
  set(body: Uint8Array, form: Form): void
}

/** @param sizeOf In bytes. */
export function makeKeptForms<Form>(
  maxBytes: number,
  sizeOf: (form: Form) => number,
): KeptForms<Form> {
  let used = new WeakMap<Uint8Array, Form>()
  let earlier = new WeakMap<Uint8Array, Form>()
  let bytes = 0

  function set(body: Uint8Array, form: Form): void {
    bytes += sizeOf(form)
    if (bytes > maxBytes / 2) {
      earlier = used
      used = new WeakMap()
      bytes = sizeOf(form)
    }
    used.set(body, form)
  }

  return {
    get(body) {
      const known = used.get(body)
      if (known !== undefined) return known
      const former = earlier.get(body)
      if (former !== undefined) set(body, former)
      return former
    },
    set,
  }
}
