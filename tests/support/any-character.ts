/**
 * Any character for texts of property tests. The unit `binary` of fast-check is the same, but lists all
 * 1,112,064 of them in each process that uses it, which takes a second.
 */
import fc from 'fast-check'

const firstSurrogate = 0xd800
const surrogates = 0x800
const lastCodePoint = 0x10ffff

/** For `fc.string({ unit: anyCharacter })`: every code point but the surrogates. */
export const anyCharacter = fc.nat({ max: lastCodePoint - surrogates }).map(
  (number) => String.fromCodePoint(number < firstSurrogate ? number : number + surrogates),
  (text) => {
    const point = typeof text === 'string' ? text.codePointAt(0) : undefined
    const isOne = point !== undefined && text === String.fromCodePoint(point)
    if (!isOne || /\p{Surrogate}/u.test(String(text))) throw new Error('not one character')
    return point < firstSurrogate ? point : point - surrogates
  },
)
