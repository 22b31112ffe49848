// A matrix of cells, all of it one quad. shape: radius of a cell's corners, columns of cells.
// In the table, from `first` on: for each column of pixels which column of cells it is in, then the same for each row
// of pixels, then the cells' colours, row by row.
out vec2 p;
flat out ivec4 size;  // pixels across and down, columns of cells, where the numbers begin
flat out float radius;

void main() {
    size = ivec4(ivec2(place.zw - place.xy), int(shape.y), int(first));
    p = mix(vec2(0.0), vec2(size.xy), corner());
    radius = shape.x;
    gl_Position = on_screen(place.xy + p);
}
