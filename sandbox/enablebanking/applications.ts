/**
 * The applications of the Enable Banking emulator with their private keys, which protect nothing: one of an
 * installation, and one that a person brings. Each key is the base64 of PKCS#8 (RFC 5958).
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

export interface DemoApplication {
  readonly id: string
  /** PEM. */
  readonly privateKey: string
  readonly publicKey: KeyObject
}

const ofInstallation = [
  'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAh4eYrGByJuJkddpplNJSfVGQZIAjkxHj/SuOPpDyG6Q+',
  'CBVrZMLnWwv0/6VxGWyjy8ao02FOcgD2Sju25Q2pr0iNxD3x4j0Q/acGJ1Ky2YuhHSmk1tbQYTj1JNlQ4UzNpfHuCA8dNaII',
  'yefrUWsPdz8lR1Vo2GJPTCcX53WwcXdTOM9546UBvOBS6mVrH8v5Cw9V2PuyCDgezw9CqtKdKNdbKU4+1PIBAhKPxBHxlMzq',
  'vpmNl0yDmcNGrzXLEiM/NAqMJexFqv4RcsBzGSJzV/7IlplcbSjkIxs+OefdCIM8JW95VPF88OwvwRU9ZDvK0sDvGayCIpT2',
  'MJ6kUINtAgMBAAECggEAH/3lUD9Ef3NqpxrWQjkSgdaFGSM6D68+h83n0OkgmLpzHkOlm4TQxjTg1cMtMI/y93zC9Aa74pcb',
  'BdHr/kYtcQbJXZVAXdMkJpCfkmwyV7nCc/EunE9+vn2JQ2LuIXxukLWEb/My372rwR4bxYRv78/21DD4RkW+gEK9NEGn0rue',
  'GaOU3rgDhmoPkVPkwjgZu1FnbrVtR40GVf+TpaMMOWMbrcYVDB5clRWjUZeI++sbEjD0FXdAl5Zp3vwhqzOSyQdOhKVJLW9i',
  'r+kJjEkVe+VwrcTPWCmTpvYBgTjO6U3AviPMpsU5rNM/3SPLNzX8Bl0SCtShUTJdmdVBxTnyWQKBgQDrdjOq+Y1hSYZEA8dk',
  'iDiGkfoWQcDv+TAg3oqB114cVZB8KU7Vlv9azsNvhsQlxvjkR7dCjnFO5EKNibutc4KltcU0pikBugWH7tF5WeX9VuB0nwGs',
  '1OB0GmkbV97tc3+/eto5rhkENqcl89rJqv2DrT2BJQkwdn5+cyJEKRzS1wKBgQDRUqke/lFqi17DKIyxSUiAI4ZyhGTenHCE',
  'od/OacdhB7d0nAUwb1XhNjxe4XCC6U1ekYnNOyfqv9oRLJD49cktyMLE4T51ye3Eww3BZubYE5s2Beit+dKrd1z95XRpFZiD',
  'iMSuC+Ip4GI0zjhgSDq7BbhoRacSc9XDwoHJPRnXWwKBgEKNmnUNLGT/PzAiUU2dIz0GLcX0t/AcYvonbMbedP9VQA2YL2w3',
  'zd2A68SuNurmnpsHmkj5shU2d4lCEQYpzBfClQcYoCaYyc9uNU8zlcpRsAfGmdacJQUsIeFUqPI83zLkKqJ7Dx8dw4j6sDCo',
  'YBfD88p5CWvlUkOzj0/svvTpAoGBAKrJpvOCzSsBS/AvxZthD6Z9VdVZ8HMxcRzGdrUT2Xlxsl2Sbyl1rbxzZA6GIiat9FKU',
  'rLqm6Yq/vk0E78QxxlN02nWI0k2I1FcWTsLeErt6Q8lwSMiqbRk56sW90Z1r4WRw0wiu6XkBex9aouTsCf9OS4fITOjhWii/',
  'KuXm1I7BAoGAdOcfKTWh7CCWS0I1MgedXd0qFusVFstGzHl7Shp6cgxmMX88aEZqegD5h9FhB4D3Achd01VLYa3OE4jfsZsy',
  'ZnIQZrhHe9ccWw7pVjCQwDDNn34gqxGoW8YmOF3NtYiRpV3z0Upjwg5aRpBQ4UD+41mHYDPgESfkUPhKyHLEorI=',
].join('')

const ofPerson = [
  'MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQDO4T4sfwYGycBZsVLb7l0mRBV0Ou+x72USfETHKjkSzHoA',
  'bLWmfhYTM2V+TniyI0+RAWXGwwGDV6e6+k4iZvdFDJ4S+7PtNv/13kjQzNkfsqx2R7WRr+sAxYZYhk5vQWD8lcVxFrc2kFPc',
  'aY1qZ76dMvby4y12deYExUCWhRcn1ACI88f/JYmZF5tecB6Nl9EaxfPLGaIAoaUj5i2c2hlc8ALDSdZesgQArob5lTgLxcC7',
  '4iavdHM6UJzaaqp8I9Pm6PzdNmf74avnUNaDG3ZRYdJYiAg3vNw77A8ml8MrE+pleqhIwidVRf9igxruerSoHbZDgH2XwuOB',
  'ing/acZzAgMBAAECggEAAwCDvXOOa9TLpMGM+UIJOf/s68XbKpLVvaHuAZHcSCiNcKojLKpRua+aPm33FGasxebmSi8UO4qv',
  'FWiCb79cwTTAqnfakYulxTSXi+gdEneuRv0dZmLOHzG+lFRGmRiyxpeJyO1SdUk83krt0Wh1/KP7r2SaiUiGsPUHzedagaps',
  'M3+3r3c168ZqcZ4QF411df0/m5RSq+5HLT3HsSZ6v7nN/5IYFZOCPUsvhRnmrl/HmvCMTxjHzEghvmv8WmY021cyNFJo3fi3',
  'uY1596AocXGq9Jzpb9mta8ICbmGQrlnwxf7EHpTR/mURDNtguwI4oKEqZd+KLSaDsAjKa6FYcQKBgQDyPh0t6GPV0ojy3bZ0',
  'VI0mJhib6R4xwoHiRl4w5FNlPqbPm2cE2D2ny/y9du0jexdgr5FHLhfmgDLXtdoJQZy9y2TNi3YsJ1CU+nhk6HfDBLvdjsKQ',
  'KcskCCwuwwzIlo6iTPDq5OeiuL4KX2iH3/EQgrQNHQ0H1u4ev9125bLdKQKBgQDaoQBG3BnkgL8NtZ6OD7UPyBHcGf4QEsxI',
  'g100MViy/Hz1aQFUcMJ5mcut+ctnIet8qGev9EgenIY1g+5eXaQXCXdi3UufmOsUsupW7T9GHYKVsDvmN6NP6IeQmnVtRxh+',
  'wkB9Oq8GCLq22YiD4MnOcv7I53otJ769Ek3b0dYeOwKBgQDgAzq+omH4cPo+BXPdffcNaTtmqpxGjcXItyQReIP6Y4alA+Ov',
  'ojzZ+BSgLOM85W6H9bOWLHTjrnfV7RBVcPx+syFjxu0gBbdKHZnKTwO5L55/U65u3IdDqd8Z2zvuHvSF+DruLYJbgxYSx4oF',
  '5LyrdQMGAXB0aHjJrMojUmUmiQKBgQC/XhAU9lG/vqX9BQ2dQch14OUpKKNHRH0Ft96ccdk3CmUClwAv/mdr8x/iz/Sn+Hvc',
  '6Lehv4xlJxMewrWiagrYk1Op+RRZxYt32cffgNlSsT/9cH5t3COaLWqEO38vwPyC79ttAjHzcS6mILEq5lce22+DQYKjBdgi',
  'PWRjVkA6wwKBgQCzLM3WeCgloSdwQcVovCi5BG5zIMnAU9mP1y1OKF1EL3uqET9gAU7UYzYFzOpqDIoxGA8COrY5ASn9MKKp',
  'LbaZQTgKue1VTZ1bULbqNRRAizoqmSA4aImsjV0tUPB9MGJOfvQW57/svJonVlV3jZfTTwD9vgw1/fSU+i33R4F4vg==',
].join('')

const label = 'PRIVATE KEY'

function make(id: string, key: string): DemoApplication {
  const lines = key.match(/.{1,64}/g) ?? []
  const privateKey = `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
  return { id, privateKey, publicKey: createPublicKey(createPrivateKey(privateKey)) }
}

export const demoApplication = make('4c1f6b0e-7a52-4c1f-9a3d-1b8f0c2d3e4f', ofInstallation)
export const personalApplication = make('9d2e5a17-3b64-4e80-8f1c-6a7b8c9d0e1f', ofPerson)
