mod damage;
mod encoder;
mod random;
mod reference;
