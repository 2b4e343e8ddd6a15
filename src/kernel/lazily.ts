/** Runs `make` at the first call. Later calls share its value; after a failure the next one tries again. */
export function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null
  return () => {
    if (made !== null) return made
    const making = make()
    made = making
    making.catch(() => {
      made = null
    })
    return making
  }
}

/** Runs `make` at the first call; later calls share its value. */
export function atFirstUse<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
