/**
 * Data that is generated at its first use, so that the sandbox starts fast with any number of people.
 * It does not depend on the data.
 */

/** Lets `key` of `target` appear at its first reading or writing; afterwards it is a field like any other. */
export function defer<Target extends object, Key extends keyof Target>(
  target: Target,
  key: Key,
  make: () => Target[Key],
): void {
  const settle = (value: Target[Key]) => {
    Object.defineProperty(target, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
    return value
  }
  Object.defineProperty(target, key, {
    get: () => settle(make()),
    set: (value: Target[Key]) => void settle(value),
    enumerable: true,
    configurable: true,
  })
}
