"""The small tables behind the known answers.

D10 is the worked example of Feelders' slides (slide 26). D12 was made for this library; M12 is D12 with two cells
missing. All answers were computed by brute force, apart from the library.
"""

import numpy as np

D10 = np.array(
    [
        [int(c) - 1 for c in row]
        for row in ["1111", "1111", "1121", "1221", "1222", "2112", "2123", "2123", "2223", "2213"]
    ]
)

_ROWS = [
    "000010",
    "001000",
    "010100",
    "100010",
    "002100",
    "111000",
    "012110",
    "111101",
    "102111",
    "112011",
    "011111",
    "112101",
]
_D12 = np.array([[int(c) for c in row] for row in _ROWS], dtype=np.uint8)
X12, Y12 = np.ascontiguousarray(_D12[:, :5]), _D12[:, 5].astype(int)

MISSING = 255
M12 = X12.copy()
M12[0, 1] = MISSING
M12[7, 0] = MISSING

QUERIES = np.array([[1, 1, 2, 1, 0], [0, 0, 1, 0, 1], [1, 0, 0, 1, 1]], dtype=np.uint8)
