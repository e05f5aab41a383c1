package wire

// Racing says whether the race detector is on.
const Racing = racing
