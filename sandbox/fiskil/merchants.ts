/**
 * Made-up Australian merchants with plausible category codes and
 * prices, as a table.
 */

export interface Merchant {
  readonly name: string
  /** As printed on a statement. */
  readonly statement: string
  /** ISO 18245 merchant category code. */
  readonly code: string
  readonly primary: string
  readonly secondary: string
  /** Bounds of a purchase, in cents. */
  readonly cents: readonly [number, number]
}

const merchant = (
  name: string,
  place: string,
  [code, ...category]: readonly [code: string, primary: string, secondary: string],
  cents: readonly [number, number],
): Merchant => ({
  name,
  statement: `${name.toUpperCase()} ${place} AU`,
  code,
  primary: category[0],
  secondary: `${category[0]}_${category[1]}`,
  cents,
})

export const merchants: readonly Merchant[] = [
  merchant(
    'Harbour Grocer',
    'MARRICKVILLE',
    ['5411', 'FOOD_AND_DRINK', 'GROCERIES'],
    [1240, 21890],
  ),
  merchant('Daily Loaf', 'NEWTOWN', ['5462', 'FOOD_AND_DRINK', 'GROCERIES'], [450, 2350]),
  merchant('Second Crack Coffee', 'SURRY HILLS', ['5814', 'FOOD_AND_DRINK', 'COFFEE'], [420, 1890]),
  merchant('Noodle Lane', 'HAYMARKET', ['5812', 'FOOD_AND_DRINK', 'RESTAURANT'], [1650, 7420]),
  merchant('Old Tram Hotel', 'FITZROY', ['5813', 'FOOD_AND_DRINK', 'BEER_WINE'], [900, 8600]),
  merchant('Metro Fares', 'SYDNEY', ['4111', 'TRANSPORTATION', 'PUBLIC_TRANSIT'], [240, 1690]),
  merchant('Southern Fuel', 'GOULBURN', ['5541', 'TRANSPORTATION', 'GAS'], [3800, 11990]),
  merchant('Kerbside Rides', 'MELBOURNE', ['4121', 'TRANSPORTATION', 'TAXIS'], [980, 6250]),
  merchant('Emporium Lane', 'MELBOURNE', ['5311', 'GENERAL_MERCHANDISE', 'OTHER'], [1995, 32900]),
  merchant('Page & Quill Books', 'CARLTON', ['5942', 'MERCHANDISE', 'BOOKSTORES'], [1299, 8997]),
  merchant('Circuit Corner', 'CHATSWOOD', ['5732', 'MERCHANDISE', 'ELECTRONICS'], [2900, 149900]),
  merchant(
    'Iron & Pine Hardware',
    'BRUNSWICK',
    ['5251', 'HOME_IMPROVEMENT', 'HARDWARE'],
    [680, 24500],
  ),
  merchant('Banksia Pharmacy', 'LEICHHARDT', ['5912', 'MEDICAL', 'PHARMACIES'], [890, 9450]),
  merchant('Bayside Dental', 'ST KILDA', ['8021', 'MEDICAL', 'DENTAL_CARE'], [9500, 48000]),
  merchant('Cut Above Hair', 'GLEBE', ['7230', 'PERSONAL_CARE', 'HAIR_AND_BEAUTY'], [3500, 16500]),
  merchant('Lighthouse Cinemas', 'BONDI', ['7832', 'ENTERTAINMENT', 'MOVIES'], [1650, 6600]),
  merchant('Reel Stream', 'SYDNEY', ['4899', 'ENTERTAINMENT', 'TV_AND_MOVIES'], [1099, 2299]),
  merchant('Clear Water Plumbing', 'COBURG', ['1711', 'GENERAL_SERVICES', 'OTHER'], [14000, 64000]),
  merchant('Bright Sparks Childcare', 'PRESTON', ['8351', 'SERVICES', 'CHILDCARE'], [9800, 45000]),
  merchant('Jacaranda Air', 'BRISBANE', ['4511', 'TRAVEL', 'FLIGHTS'], [8900, 74900]),
  merchant('Headland Lodge', 'BYRON BAY', ['7011', 'TRAVEL', 'LODGING'], [14900, 61200]),
  merchant('City Council', 'SYDNEY', ['9399', 'GOVERNMENT_AND_NON_PROFIT', 'OTHER'], [2200, 51000]),
]

/** Where a travel card is used: foreign merchants, priced in the card's currency. */
export const travelMerchants: readonly Merchant[] = [
  merchant(
    'Pier 12 Diner',
    'SAN FRANCISCO',
    ['5812', 'FOOD_AND_DRINK', 'RESTAURANT'],
    [1450, 9800],
  ),
  merchant(
    'Bay Area Transit',
    'OAKLAND',
    ['4111', 'TRANSPORTATION', 'PUBLIC_TRANSIT'],
    [215, 1480],
  ),
  merchant('Redwood Inn', 'EUREKA', ['7011', 'TRAVEL', 'LODGING'], [9900, 28900]),
]
